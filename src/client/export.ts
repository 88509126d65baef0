/** A run with everything that belongs to it: as a folder that can be checked without server and store, and as a page. */
import type { Exported } from '../bundle/write.js';
import { readRecords } from './records.js';
import type { Session } from './session.js';

/** @throws BatonError as {@link RunHandle.export} */
export async function exportRun(session: Session, run: string, folder: string): Promise<Exported> {
  const [{ writeBundle }, store] = await Promise.all([import('../bundle/write.js'), session.store()]);
  return writeBundle(folder, await readRecords(session, run), (digest) => store.artifacts.readStream(digest));
}

/** @throws BatonError as {@link RunHandle.report} */
export async function reportRun(session: Session, run: string): Promise<string> {
  const { reportHtml } = await import('../report/page.js');
  return reportHtml(await readRecords(session, run));
}
