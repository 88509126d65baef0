/** A TCP proxy for tests of bad networks: it can hold all traffic back, or cut it, for a while. */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Proxy {
  readonly address: string;
  /** Nothing passes for so long; then it all arrives, late. */
  hold(ms: number): Promise<void>;
  /** Every connection breaks, and new ones are refused for so long. */
  cut(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** @param target `host:port` */
export async function startProxy(target: string): Promise<Proxy> {
  const [host = '127.0.0.1', port] = target.split(':');
  const sockets = new Set<net.Socket>();
  let state: 'open' | 'held' | 'cut' = 'open';
  const server = net.createServer((near) => {
    if (state === 'cut') {
      near.destroy();
      return;
    }
    const far = net.connect(Number(port), host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (state === 'held') from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    async hold(ms) {
      state = 'held';
      for (const socket of sockets) socket.pause();
      await sleep(ms);
      state = 'open';
      for (const socket of sockets) socket.resume();
    },
    async cut(ms) {
      state = 'cut';
      for (const socket of sockets) socket.destroy();
      await sleep(ms);
      state = 'open';
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
