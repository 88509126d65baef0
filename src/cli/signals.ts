/** Ctrl-C and SIGTERM for commands that run until they are told to stop. */

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once, should the first hang. */
export function stopSignal(): { readonly asked: Promise<NodeJS.Signals>; dispose(): void } {
  let resolve: (signal: NodeJS.Signals) => void;
  const asked = new Promise<NodeJS.Signals>((done) => (resolve = done));
  let count = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    count += 1;
    if (count > 1) process.exit(130);
    resolve(signal);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    asked,
    dispose() {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
