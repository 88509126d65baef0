/** The remote job's work, cut in slices. */

/** How many primes are in `from` ≤ n < `until`. */
export function primesIn(from: number, until: number): number {
  let found = 0;
  for (let n = Math.max(2, from); n < until; n += 1) if (isPrime(n)) found += 1;
  return found;
}

function isPrime(n: number): boolean {
  if (n % 2 === 0) return n === 2;
  for (let divisor = 3; divisor * divisor <= n; divisor += 2) if (n % divisor === 0) return false;
  return true;
}
