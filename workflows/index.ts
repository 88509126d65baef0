/** What a workflow bundle needs: users who build their own bundle re-export this module's functions. */
export { batonRun, type RunResult } from './run.js';
