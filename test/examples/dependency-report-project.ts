/** Real projects in temporary folders, for the tests of the example. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

export const MIT = `MIT License
Copyright (c) 2020 Ada

Permission is hereby granted, free of charge, to any person obtaining a copy of this software … to deal in the Software …
The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.`;

export const GPL3 = `GNU GENERAL PUBLIC LICENSE
Version 3, 29 June 2007
TERMS AND CONDITIONS`;

/** Writes files (objects as JSON) into a fresh folder that goes with the test. */
export async function makeProject(files: Record<string, unknown>): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-project-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}
