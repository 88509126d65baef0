/**
 * How Baton's payloads become bytes: plain JSON, whatever payload converter the user has for his own workflows, because run
 * workflow, hosts and callers must read each other; then through the user's codecs. With codecs the texts of failures are
 * encoded too, which Temporal by itself leaves in clear.
 */
import { Client } from '@temporalio/client';
import {
  DefaultFailureConverter,
  defaultFailureConverter,
  defaultPayloadConverter,
  type DataConverter,
  type LoadedDataConverter,
} from '@temporalio/common';
import { builtFile } from './built.js';

type Codecs = Pick<DataConverter, 'payloadCodecs' | 'externalStorage'>;

export const hasCodecs = (converter: Codecs | undefined): boolean =>
  (converter?.payloadCodecs?.length ?? 0) > 0;

/** For a Worker of ours. Undefined when the user has nothing that concerns us. */
export function workerConverter(users: Codecs | undefined): DataConverter | undefined {
  if (!hasCodecs(users) && !users?.externalStorage) return undefined;
  return {
    ...kept(users),
    ...(hasCodecs(users) ? { failureConverterPath: builtFile('workflows/failure-converter.cjs') } : {}),
  };
}

/** For a client of ours. */
export function clientConverter(users: Codecs | undefined): LoadedDataConverter {
  return {
    payloadConverter: defaultPayloadConverter,
    failureConverter: hasCodecs(users)
      ? new DefaultFailureConverter({ encodeCommonAttributes: true })
      : defaultFailureConverter,
    payloadCodecs: users?.payloadCodecs ?? [],
    ...(users?.externalStorage ? { externalStorage: users.externalStorage } : {}),
  };
}

/** A client over the connection of the user's, which speaks as Baton does; the user's own when that does so already. */
export function batonClientOver(client: Client): Client {
  const { loadedDataConverter: dataConverter } = client.options;
  const plain =
    dataConverter.payloadConverter === defaultPayloadConverter &&
    dataConverter.failureConverter === defaultFailureConverter &&
    dataConverter.payloadCodecs.length === 0;
  if (plain) return client;
  const { connection, options } = client;
  return new Client({
    connection,
    namespace: options.namespace,
    identity: options.identity,
    interceptors: options.interceptors,
    workflow: options.workflow,
    // The SDK takes a loaded one, which its types do not say.
    dataConverter: clientConverter(dataConverter),
  });
}

function kept(users: Codecs | undefined): Codecs {
  return {
    ...(users?.payloadCodecs ? { payloadCodecs: users.payloadCodecs } : {}),
    ...(users?.externalStorage ? { externalStorage: users.externalStorage } : {}),
  };
}
