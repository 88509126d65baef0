/** The user's own workflow: it knows nothing of Baton. */
import { proxyActivities } from '@temporalio/workflow';
import type * as activities from './activities.js';

const { hello } = proxyActivities<typeof activities>({ startToCloseTimeout: '10s' });

export async function greet(name: string): Promise<string> {
  return hello(name);
}
