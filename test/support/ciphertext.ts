/** Reads what Temporal keeps of a workflow as somebody does who has no keys. */
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

const { History } = proto.temporal.api.history.v1;
const { Memo } = proto.temporal.api.common.v1;

export interface Kept {
  /** Every text and every byte of history and memo, as one string. */
  readonly text: string;
  /** Encoding of each payload with where it is; search attributes, which the server has to read, are left out. */
  readonly payloads: readonly { readonly at: string; readonly encoding: string }[];
}

/** All executions of the chain are looked at, the newest included. */
export async function keptOf(client: Client, workflowId: string): Promise<Kept> {
  const { workflowService } = client.connection;
  const namespace = client.options.namespace;
  const parts: unknown[] = [];
  // The client's own `describe` would decode the memo.
  const described = await workflowService.describeWorkflowExecution({
    namespace,
    execution: { workflowId },
  });
  let runId = described.workflowExecutionInfo?.execution?.runId ?? undefined;
  parts.push(Memo.toObject(Memo.fromObject(described.workflowExecutionInfo?.memo ?? {})));
  while (runId) {
    let nextPageToken: Uint8Array | undefined;
    let before: string | undefined;
    do {
      const page = await workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: { workflowId, runId },
        ...(nextPageToken ? { nextPageToken } : {}),
      });
      const history = History.fromObject(page.history ?? {});
      before ??=
        history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined;
      parts.push(History.toObject(history));
      nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
    } while (nextPageToken);
    runId = before === '' ? undefined : before;
  }
  const texts: string[] = [];
  const payloads: { at: string; encoding: string }[] = [];
  const walk = (value: unknown, at: string): void => {
    if (typeof value === 'string') texts.push(value);
    else if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('utf8'));
    else if (Array.isArray(value)) value.forEach((one, index) => walk(one, `${at}[${index}]`));
    else if (typeof value === 'object' && value !== null) {
      const { metadata } = value as { metadata?: Record<string, Uint8Array> };
      if (metadata?.['encoding'] instanceof Uint8Array)
        payloads.push({ at, encoding: Buffer.from(metadata['encoding']).toString('utf8') });
      for (const [name, inner] of Object.entries(value))
        if (name !== 'searchAttributes') walk(inner, `${at}.${name}`);
    }
  };
  walk(parts, '');
  return { text: texts.join('\n'), payloads };
}
