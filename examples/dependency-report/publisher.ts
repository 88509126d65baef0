/**
 * The service that publishes reports, and the owner of that effect: a process of its own with its own database. Content comes
 * first, by its digest, which may be sent any number of times; to publish is the effect, which must happen once.
 *
 *     node dist/examples/dependency-report/publisher.js --database ./publications.db --authority http://127.0.0.1:7300
 *
 * PUT /content/DIGEST · POST /publications[/lookup] (the effect-owner kit) · GET /publications/ID. Prints one JSON line when it
 * is ready. `--lose-answers N` loses the answers of the first N publications after they are committed, and says so by a line.
 */
import { createServer, ServerResponse, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import {
  BatonError,
  EffectRejected,
  effectOwner,
  effectRoutes,
  httpAuthority,
  sqliteEngine,
  type Json,
} from '../../src/effects/index.js';
import { sha256 } from '../../src/store/canonical.js';

const LARGEST_REPORT = 16 * 1024 * 1024;

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: './publications.db' },
    authority: { type: 'string' },
    port: { type: 'string', default: '0' },
    'lose-answers': { type: 'string', default: '0' },
  },
});
if (values.authority === undefined) {
  console.error('--authority is missing: the address that `baton worker --authority-port N` prints');
  process.exit(2);
}
let answersToLose = Number(values['lose-answers']);

const database = new Database(values.database);
database.pragma('journal_mode = WAL');
database.exec(`
  create table if not exists contents (digest text primary key, bytes blob not null);
  create table if not exists publications (
    id integer primary key,
    title text not null,
    digest text not null references contents (digest),
    published_at text not null
  );
  -- Everything that was asked for, whatever became of it: what a reader of the records counts.
  create table if not exists requests (id integer primary key, path text not null, key text not null, status integer);
`);

const owner = effectOwner({ engine: sqliteEngine(database), authority: httpAuthority(values.authority) });
await owner.migrate();
const effects = effectRoutes<Database.Database, 'sync'>({ owner, path: '/publications', commit: publish });

/** In the kit's transaction: the publication, its record and the fence are there together or not at all. */
function publish(trx: Database.Database, request: Json): Json {
  const { title, digest } = request as { title?: unknown; digest?: unknown };
  if (typeof title !== 'string' || typeof digest !== 'string')
    throw BatonError.of('InvalidCommand', 'a publication needs `title` and `digest`', { field: 'request' });
  if (trx.prepare('select 1 from contents where digest = ?').get(digest) === undefined)
    throw new EffectRejected({ code: 'NoContent', message: `no content ${digest} was sent` });
  const at = new Date().toISOString();
  const { lastInsertRowid } = trx
    .prepare('insert into publications (title, digest, published_at) values (?, ?, ?)')
    .run(title, digest, at);
  return { publication: Number(lastInsertRowid), publishedAt: at };
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    console.error(error);
    if (!response.headersSent) response.writeHead(500).end();
  });
});
server.listen(Number(values.port), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ ready: true, pid: process.pid, url: `http://127.0.0.1:${port}` }));
});
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    server.closeAllConnections();
    server.close(() => database.close());
  });

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const [, kind, id] = pathname.split('/');
  if (kind === 'content' && request.method === 'PUT') return keep(id ?? '', request, response);
  if (kind === 'publications' && request.method === 'GET') return show(Number(id), response);
  if (kind === 'publications' && request.method === 'POST') {
    const body = await bodyOf(request);
    const asked = database
      .prepare('insert into requests (path, key) values (?, ?)')
      .run(pathname, keyIn(body)).lastInsertRowid;
    response.once('close', () => record(asked, response));
    const loses = pathname === '/publications' && answersToLose > 0;
    return effects(
      Object.assign(request, { body: parsed(body) }),
      loses ? new LostAnswer(request, response) : response,
    );
  }
  response.writeHead(404).end();
}

/** An answer that gets lost on its way: whoever asked goes on waiting, as behind a network that drops it. */
class LostAnswer extends ServerResponse {
  constructor(
    request: IncomingMessage,
    private readonly real: ServerResponse,
  ) {
    super(request);
  }

  override end(body?: unknown): this {
    const { repeated, state } = parsed(Buffer.from(body as Uint8Array)) as {
      repeated?: boolean;
      state?: string;
    };
    // Only that of a publication: a refusal is told.
    if (this.statusCode !== 200 || state !== 'committed' || repeated !== false) {
      this.real.writeHead(this.statusCode, { 'content-type': 'application/json' }).end(body);
      return this;
    }
    answersToLose -= 1;
    console.log(JSON.stringify({ lost: true, state }));
    return this;
  }
}

async function keep(digest: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const bytes = await bodyOf(request);
  if (sha256(bytes) !== digest) return void response.writeHead(400).end('the bytes have another digest');
  database.prepare('insert into contents values (?, ?) on conflict do nothing').run(digest, bytes);
  response.writeHead(204).end();
}

function show(id: number, response: ServerResponse): void {
  const bytes = database
    .prepare('select bytes from publications join contents using (digest) where id = ?')
    .pluck()
    .get(id) as Buffer | undefined;
  if (bytes === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'text/markdown; charset=utf-8' }).end(bytes);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_REPORT) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return null;
  }
}

function keyIn(body: Uint8Array): string {
  const { key } = (parsed(body) ?? {}) as { key?: unknown };
  return typeof key === 'string' ? key : '';
}

/** A request whose answer never left keeps the status null. */
function record(asked: number | bigint, { writableEnded, statusCode }: ServerResponse): void {
  if (writableEnded && database.open)
    database.prepare('update requests set status = ? where id = ?').run(statusCode, asked);
}
