import type { RunEntry } from "../agent/record/trajectory.ts";
import type { JournalPort } from "../agent/tools/tool.ts";
import { AppError } from "../core/errors.ts";
import type { Masks } from "../core/secrets/masks.ts";
import { decodeText } from "../core/text/decode.ts";
import { withStrings } from "../core/text/json.ts";
import type {
  Edit,
  EditableWorkspace,
  FileText,
  SearchHits,
  TreeEntry,
  Workspace,
} from "../repo/git/workspace.ts";
import type { FixCommands } from "../tasks/fix/run-fix.ts";
import type { KnownGraph } from "../tasks/loop/review-run.ts";

/** Of a file with search hits. Of a larger one the masks learn only the lines found. */
const MAX_SEARCHED_BYTES = 4 * 1024 * 1024;
const GITLINK = "160000";

interface BlobToLearn {
  /** Its text, if it has been read already. */
  file?: FileText;
  maxBytes?: number;
}

/** False for a blob that cannot be read as a whole. */
type LearnBlob = (oid: string, known?: BlobToLearn) => Promise<boolean>;

/** A workspace whose files the masks learn as a whole before any part is returned: a part does not show that it belongs to a key. */
export function learningWorkspace(below: Workspace, masks: Masks): Workspace {
  return learning(below, masks, blobLearner(below, masks));
}

/** The same for files that are edited. */
export function learningEdits(below: EditableWorkspace, masks: Masks): EditableWorkspace {
  const learnBlob = blobLearner(below, masks);
  return {
    ...learning(below, masks, learnBlob),
    async read(path) {
      const bytes = await below.read(path);
      await masks.learn(decodeText(bytes).text);
      return bytes;
    },
    write: (path, bytes, options) => below.write(path, bytes, options),
    remove: (path) => below.remove(path),
    edits: (): Promise<readonly Edit[]> => below.edits(),
  };
}

export function learningCommands(commands: FixCommands, masks: Masks): FixCommands {
  if ("why" in commands) return commands;
  return {
    open(edit) {
      const { allowed, run } = commands.open(edit);
      return {
        allowed,
        async run(request, signal) {
          const end = await run(request, signal);
          for (const text of [end.stdout, end.stderr]) await masks.learn(text);
          return end;
        },
      };
    },
  };
}

/** A graph; the masks learn the files of its excerpts. */
export function learningGraph(graph: KnownGraph, workspace: Workspace): KnownGraph {
  return {
    async open() {
      const opened = await graph.open();
      if (opened === null) return null;
      return {
        commits: opened.commits,
        callers: (of, least) => opened.callers(of, least),
        async query(query, k, signal) {
          const answer = await opened.query(query, k, signal);
          const tree = await workspace.tree("head");
          const entries = answer.nodes.flatMap(({ path }) => (path === null ? [] : (tree.get(path) ?? [])));
          for (const { oid } of entries) await workspace.readBlob(oid).catch(nullIfUnreadable);
          return answer;
        },
      };
    },
  };
}

function learning(below: Workspace, masks: Masks, learnBlob: LearnBlob): Workspace {
  const learnSides = (sides: readonly Pick<TreeEntry, "oid" | "mode">[]) =>
    Promise.all(sides.filter(({ mode }) => mode !== GITLINK).map(({ oid }) => learnBlob(oid)));

  /** A diff also shows lines of files that are too large to read. */
  async function learned(patch: Promise<string>, sides: readonly Pick<TreeEntry, "oid" | "mode">[]) {
    const [text, ...known] = [await patch, ...(await learnSides(sides))];
    if (known.includes(false)) await masks.learn(text.replaceAll(/^[+ -]/gm, ""));
    return text;
  }

  return {
    root: below.root,
    shas: below.shas,
    withheld: below.withheld,
    changes: () => below.changes(),
    tree: (ref) => below.tree(ref),
    linguistAttributes: (paths) => below.linguistAttributes(paths),
    async readBlob(oid) {
      const file = await below.readBlob(oid);
      await learnBlob(oid, { file });
      return file;
    },
    async readBytes(oid) {
      const bytes = await below.readBytes(oid);
      await learnBlob(oid);
      return bytes;
    },
    async headStart(path, maxBytes) {
      const start = await below.headStart(path, maxBytes);
      const entry = (await below.tree("head")).get(path);
      if (!entry || !(await learnBlob(entry.oid))) await masks.learn(start.text);
      return start;
    },
    patch(change, contextLines) {
      const { oldOid, oldMode, newOid, newMode } = change;
      const sides = [
        { oid: oldOid, mode: oldMode },
        { oid: newOid, mode: newMode },
      ];
      return learned(below.patch(change, contextLines), sides);
    },
    diffBlobs: (from, to, contextLines) => learned(below.diffBlobs(from, to, contextLines), [from, to]),
    async commits(max) {
      const commits = await below.commits(max);
      for (const { message } of commits) await masks.learn(message, true);
      return commits;
    },
    async search(query, signal) {
      const hits = await below.search(query, signal);
      if (query.onlyPlaces) return hits;
      const tree = await below.tree("head");
      // One by one: their order decides about the numbers of masks.
      for (const [path, lines] of linesByFile(hits)) {
        // The signal's own reason is no error that callers of a search expect: one with a time limit goes on without it.
        if (signal.aborted)
          throw new AppError("aborted", "Aborted while secrets were searched in the matches");
        const entry = tree.get(path);
        if (!entry || !(await learnBlob(entry.oid, { maxBytes: MAX_SEARCHED_BYTES })))
          await masks.learn(lines.join("\n"));
      }
      return hits;
    },
  };
}

function linesByFile(hits: SearchHits): Map<string, string[]> {
  const files = new Map<string, string[]>();
  if (hits.mode !== "content") return files;
  for (const { path, text, before, after } of hits.matches) {
    const around = [...before.map((line) => line.text), text, ...after.map((line) => line.text)];
    files.set(path, [...(files.get(path) ?? []), ...around]);
  }
  return files;
}

function blobLearner(below: Workspace, masks: Masks): LearnBlob {
  const learned = new Map<string, Promise<boolean>>();

  async function learn(oid: string, { file, maxBytes = Number.POSITIVE_INFINITY }: BlobToLearn) {
    // A side that does not exist has an object name of zeros.
    if (/^0+$/.test(oid)) return true;
    const read = file ?? (await below.readBlob(oid).catch(nullIfUnreadable));
    if (read === null || read.bytes > maxBytes) return false;
    if (!read.binary) await masks.learn(read.text);
    return true;
  }

  return async (oid, known = {}) => {
    // A blob that could not be learned is tried again: this call may allow more bytes.
    if (await learned.get(oid)) return true;
    const learning = learn(oid, known);
    learned.set(oid, learning);
    return await learning;
  };
}

/** An unreadable file fails the read itself, with its own error; a diff of it is returned all the same. */
function nullIfUnreadable(error: unknown): null {
  if (error instanceof AppError) return null;
  throw error;
}

/** A result or a recorded entry with the masks removed, because people do not know them. */
export function withoutMasks<Value>(value: Value, masks: Masks): Value {
  return withStrings(value, (text) => masks.forPeople(text)) as Value;
}

/** Recorded conversations with a model stay as they are. */
export const entryForPeople = (entry: RunEntry, masks: Masks): RunEntry =>
  entry.kind === "unit" ? withoutMasks(entry, masks) : entry;

export const journalForPeople = ({ log }: JournalPort, masks: Masks): JournalPort => ({
  log: (page, content) => log(masks.forPeople(page), masks.forPeople(content)),
});
