/** The dependency report's agents, each an export of its own: the crash explorer loads them by name in its hosts. */
import { reportAgent } from '../dependency-report/agents.js';

export const researcher = reportAgent('researcher');
export const senior = reportAgent('senior-researcher');
