/** The user's own activity. */
export function hello(name: string): Promise<string> {
  return Promise.resolve(`Hello, ${name}!`);
}
