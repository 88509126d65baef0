/** A local S3-compatible server with one bucket, and the environment that the S3 client finds it by. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import S3rver from 's3rver';

export interface S3Server {
  readonly endpoint: string;
  /** Address for `BATON_BLOBS` or the option `blobs`, each time with a prefix of its own. */
  blobs(): string;
  /** Keys that the bucket shows. */
  readonly directory: string;
  close(): Promise<void>;
}

export const BUCKET = 'baton-test';

/** Sets the client's credentials and region in this process's environment, as users do. */
export async function startS3(): Promise<S3Server> {
  const directory = await mkdtemp(path.join(tmpdir(), 'baton-s3-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: BUCKET, configs: [] }],
  });
  const { port } = await server.run();
  const env = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER', AWS_REGION: 'us-east-1' };
  Object.assign(process.env, env);
  const endpoint = `http://127.0.0.1:${port}`;
  let prefixes = 0;
  return {
    endpoint,
    directory,
    blobs: () => `s3://${BUCKET}/p${++prefixes}?endpoint=${encodeURIComponent(endpoint)}`,
    async close() {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
