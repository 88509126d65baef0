/** A front of a Temporal server as clouds have it: TLS, on demand with client certificates, on demand with an API key. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Certificates {
  readonly ca: string;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly clientCert: string;
  readonly clientKey: string;
  /** The only name in the server's certificate. */
  readonly serverName: string;
}

/** Makes an authority and what it signs, in PEM files of the folder. */
export async function makeCertificates(folder: string, serverName: string): Promise<Certificates> {
  const at = (name: string) => path.join(folder, name);
  const openssl = (...args: string[]) => run('openssl', args);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout'];
  await openssl(
    'req',
    '-x509',
    ...key,
    at('ca.key'),
    '-out',
    at('ca.pem'),
    '-days',
    '2',
    '-subj',
    '/CN=test-ca',
  );
  for (const name of ['server', 'client']) {
    await openssl('req', ...key, at(`${name}.key`), '-out', at(`${name}.csr`), '-subj', `/CN=${name}`);
    await writeFile(
      at(`${name}.ext`),
      name === 'server' ? `subjectAltName=DNS:${serverName}` : 'extendedKeyUsage=clientAuth',
    );
    const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2'];
    await openssl(
      'x509',
      '-req',
      '-in',
      at(`${name}.csr`),
      ...signed,
      '-extfile',
      at(`${name}.ext`),
      '-out',
      at(`${name}.pem`),
    );
  }
  return {
    ca: at('ca.pem'),
    serverCert: at('server.pem'),
    serverKey: at('server.key'),
    clientCert: at('client.pem'),
    clientKey: at('client.key'),
    serverName,
  };
}

export interface TlsProxy {
  readonly address: string;
  /** Calls that came through. */
  readonly passed: number;
  stop(): Promise<void>;
}

/**
 * @param target `host:port` of the real server, which speaks no TLS
 * @param options `clients`: only callers with a certificate of the authority; `apiKey`: only callers with that key
 */
export async function startTlsProxy(
  target: string,
  certificates: Certificates,
  options: { clients?: boolean; apiKey?: string } = {},
): Promise<TlsProxy> {
  const [ca, cert, key] = await Promise.all(
    [certificates.ca, certificates.serverCert, certificates.serverKey].map((file) => readFile(file)),
  );
  const mutual = options.clients ? { requestCert: true, rejectUnauthorized: true } : {};
  const front = http2.createSecureServer({ ca, cert, key, ...mutual });
  const back = http2.connect(`http://${target}`);
  back.on('error', () => undefined);
  const sessions = new Set<http2.ServerHttp2Session>();
  let passed = 0;
  front.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
  });
  front.on('stream', (near, headers) => {
    near.on('error', () => undefined);
    if (options.apiKey !== undefined && headers.authorization !== `Bearer ${options.apiKey}`) {
      near.respond(
        {
          ':status': 200,
          'content-type': 'application/grpc',
          'grpc-status': '16',
          'grpc-message': 'no such key',
        },
        { endStream: true },
      );
      return;
    }
    passed += 1;
    // A header of the hop, not of the call.
    const { authorization: _key, ...rest } = headers;
    const far = back.request({ ...rest, ':scheme': 'http' });
    far.on('error', () => near.close(http2.constants.NGHTTP2_CANCEL));
    near.on('close', () => far.close(http2.constants.NGHTTP2_CANCEL));
    let trailers: http2.IncomingHttpHeaders = {};
    far.on('trailers', (sent) => (trailers = sent));
    near.on('wantTrailers', () => near.sendTrailers(trailers));
    far.on('response', (answer, flags) => {
      const ended = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      near.respond(answer, ended ? { endStream: true } : { waitForTrailers: true });
      if (!ended) far.pipe(near);
    });
    near.pipe(far);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(front.address() as AddressInfo).port}`,
    get passed() {
      return passed;
    },
    async stop() {
      for (const session of sessions) session.destroy();
      back.destroy();
      await new Promise<void>((resolve) => front.close(() => resolve()));
    },
  };
}
