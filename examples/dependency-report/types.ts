/** The nouns of the example: what the inventory lists and what is noted of each package. Plain JSON. */

export type Origin = 'registry' | 'git' | 'remote' | 'file' | 'local';

/** One package at one version, wherever in the tree it is. */
export interface Listed {
  /** `name@version`. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** Folders relative to the project, as the lock has them. */
  readonly places: readonly string[];
  readonly origin: Origin;
  /** A direct dependency of the project or of one of its workspaces. */
  readonly direct: boolean;
  readonly dev: boolean;
  readonly optional: boolean;
  readonly bundled: boolean;
  /** Licence as the lock states it; older locks state none. */
  readonly licence: string | null;
  /** Deprecation message that the registry gave when the lock was written. */
  readonly deprecated: string | null;
  readonly installScript: boolean;
  /** `engines.node` as the lock states it. */
  readonly engines: string | null;
  /** Other versions of the same name in this lock. */
  readonly otherVersions: readonly string[];
}

export interface Inventory {
  readonly project: string;
  readonly name: string;
  readonly lockfileVersion: number;
  /** When the lock was last written and the tree last installed, by the files' own times; null when unknown. */
  readonly lockWritten: string | null;
  readonly installed: string | null;
  /** The Node.js that looked, for `engines`. */
  readonly node: string;
  readonly packages: readonly Listed[];
}

export type LicenceClass =
  'permissive' | 'weak-copyleft' | 'strong-copyleft' | 'restricted' | 'unknown' | 'unread';

export interface Licence {
  /** As written by the package or the lock. */
  readonly stated: string | null;
  /** The SPDX expression it stands for; null when it stands for none. */
  readonly expression: string | null;
  /** True when what was written had to be corrected to be SPDX. */
  readonly corrected: boolean;
  readonly from: 'package.json' | 'lock' | 'licence file' | 'nowhere';
  readonly class: LicenceClass;
  readonly files: readonly LicenceFile[];
}

export interface LicenceFile {
  readonly file: string;
  readonly digest: string;
  /** SPDX ids whose text it carries. */
  readonly looksLike: readonly string[];
}

/** Something that the files do not settle, for a person. */
export interface Question {
  readonly code:
    | 'licence-missing'
    | 'licence-unknown'
    | 'licence-asks'
    | 'licence-differs'
    | 'deprecated'
    | 'version-differs'
    | 'content-differs'
    | 'install-script'
    | 'engines'
    | 'unreadable';
  readonly text: string;
}

export interface Note {
  readonly package: Listed;
  readonly presence: 'installed' | 'absent' | 'other version';
  readonly licence: Licence;
  /** Date that the package's own changelog gives for this version. */
  readonly released: string | null;
  readonly engines: { readonly range: string; readonly accepts: boolean } | null;
  /** What is on disk: all files of the package without those of packages inside it. */
  readonly content: { readonly files: number; readonly bytes: number; readonly digest: string } | null;
  readonly questions: readonly Question[];
}
