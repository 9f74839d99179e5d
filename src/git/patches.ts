import { AppError } from "../errors.ts";
import { blobHunks, diffOptions, renameOptions, type Sides, submoduleHunk } from "./blob-diff.ts";
import type { CheckoutPlace } from "./checkout-place.ts";
import { decodeText } from "./decode.ts";
import { Lru } from "./lru.ts";
import { PatchSplitter } from "./patch-splitter.ts";
import { streamGit } from "./run-git.ts";
import type { Change } from "./workspace.ts";

/** How many bytes of hunks are kept from the one pass over the whole patch. */
const KEPT_BYTES = 32 * 1024 * 1024;
const DEFAULT_CONTEXT = 3;
const SUBMODULE_MODE = "160000";

interface Section {
  header: Buffer;
  /** Null when it did not fit. */
  body: Buffer | null;
}

/** The change's patches. One git process prints all of them; other widths of context come file by file. */
export class Patches {
  readonly #place: CheckoutPlace;
  readonly #changes: () => Promise<readonly Change[]>;
  readonly #keptBytes: number;
  readonly #bodies: Lru<Buffer>;
  #sections: Promise<Map<string, Section[]>> | undefined;

  constructor(place: CheckoutPlace, changes: () => Promise<readonly Change[]>, keptBytes = KEPT_BYTES) {
    this.#place = place;
    this.#changes = changes;
    this.#keptBytes = keptBytes;
    this.#bodies = new Lru(keptBytes);
  }

  /** The file's patch as git prints it. A change of type has two sections: the old file goes, the new one comes. */
  async patch(change: Change, contextLines: number): Promise<string> {
    const sections = (await this.#allSections()).get(change.path);
    if (!sections) throw new AppError("git_failed", `There is no patch of '${change.path}'`);
    const parts: Buffer[] = [];
    for (const section of sections) {
      parts.push(section.header, await this.#body(change, section, contextLines));
    }
    return decodeText(Buffer.concat(parts)).text;
  }

  #allSections(): Promise<Map<string, Section[]>> {
    this.#sections ??= this.#readAll().catch((error: unknown) => {
      this.#sections = undefined;
      throw error;
    });
    return this.#sections;
  }

  async #body(change: Change, section: Section, contextLines: number): Promise<Buffer> {
    const sides = sidesOf(change, section);
    // Where a whole file comes or goes there are no unchanged lines to show, and a submodule has one line.
    const sameWidth = contextLines === DEFAULT_CONTEXT || !sides.from || !sides.to || sides.submodule;
    if (sameWidth && section.body !== null) return section.body;
    // A section that printed no hunks has none at any width: binary, mode alone, a pure rename.
    if (section.body?.length === 0) return section.body;
    if (sides.submodule) return submoduleHunk(sides);
    const width = sameWidth ? DEFAULT_CONTEXT : contextLines;
    const key = `${sides.from} ${sides.to} ${width}`;
    const known = this.#bodies.get(key);
    if (known) return known;
    const body = await blobHunks(this.#place, sides, width);
    this.#bodies.set(key, body, body.length);
    return body;
  }

  async #readAll(): Promise<Map<string, Section[]>> {
    const changes = this.#changes();
    // Awaited below; a failure until then is no unhandled one.
    changes.catch(() => {});
    const sections: Section[] = [];
    let open: Buffer[] = [];
    let kept = 0;
    const close = () => {
      const last = sections.at(-1);
      if (last?.body) last.body = Buffer.concat(open);
      open = [];
    };
    const splitter = new PatchSplitter({
      header: (header) => {
        close();
        sections.push({ header, body: Buffer.alloc(0) });
      },
      body: (bytes) => {
        const last = sections.at(-1);
        if (!last?.body) return;
        kept += bytes.length;
        if (kept <= this.#keptBytes) {
          // A copy: the bytes of the pipe's buffer are used again.
          open.push(Buffer.from(bytes));
          return;
        }
        kept -= bytes.length + open.reduce((sum, one) => sum + one.length, 0);
        open = [];
        last.body = null;
      },
    });
    await streamPatch(this.#place, (chunk) => splitter.push(chunk));
    splitter.end();
    close();
    return assign(await changes, sections);
  }
}

/** Sections come in the order of the raw records, two for a change of type. */
function assign(changes: readonly Change[], sections: Section[]): Map<string, Section[]> {
  const byPath = new Map<string, Section[]>();
  let at = 0;
  for (const change of changes) {
    const count = change.type === "type_changed" ? 2 : 1;
    byPath.set(change.path, sections.slice(at, at + count));
    at += count;
  }
  if (at !== sections.length) {
    throw new AppError("git_failed", `git printed ${sections.length} patches for ${changes.length} changes`);
  }
  return byPath;
}

function sidesOf(change: Change, section: Section): Sides & { submodule: boolean } {
  const [, whole, wholeMode] =
    /^(new|deleted) file mode (\d{6})$/m.exec(section.header.toString("latin1")) ?? [];
  return {
    from: whole === "new" ? undefined : change.oldOid,
    to: whole === "deleted" ? undefined : change.newOid,
    submodule: (wholeMode ?? change.newMode) === SUBMODULE_MODE,
  };
}

async function streamPatch(place: CheckoutPlace, onChunk: (chunk: Buffer) => void): Promise<void> {
  const { mergeBase, head } = place.shas;
  await streamGit(
    {
      git: place,
      gitDir: place.gitDir,
      what: "diff",
      args: [
        "diff-tree",
        "-r",
        "-p",
        `-U${DEFAULT_CONTEXT}`,
        ...renameOptions,
        ...diffOptions,
        mergeBase,
        head,
        "--",
      ],
      maxBytes: Number.POSITIVE_INFINITY,
    },
    (chunk) => {
      onChunk(chunk);
      return undefined;
    },
  );
}
