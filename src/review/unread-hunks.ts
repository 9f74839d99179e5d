import type { Coverage } from "../agent/coverage.ts";
import {
  type DiffLine,
  divideHunk,
  type FileDiff,
  type Hunk,
  hunkHeader,
  renderHunks,
  renderLine,
  shownBytes,
} from "../diff/file-diff.ts";
import { wrapUntrusted } from "../text/fence.ts";
import { noteShown } from "../tools/diff-pages.ts";
import { showPath } from "../tools/show.ts";
import type { ChangedFile, DiffSource } from "../tools/tool.ts";

/** Hunks that no model has been shown yet, as far as they fit. */
export interface Portion {
  text: string;
  /** Counts them as served. */
  shown(): void;
}

/** Takes what was not served yet, in order, a portion at a time. */
export interface UnreadHunks {
  /** Null when nothing is left, or nothing that fits. */
  next(): Promise<Portion | null>;
}

export interface UnreadOptions {
  files: readonly ChangedFile[];
  diffs: DiffSource;
  coverage: Coverage;
  /** Bytes that a portion may have. */
  portionBytes: number;
}

/** What of one file goes into a portion. */
interface Slice {
  diff: FileDiff;
  hunks: Hunk[];
  /** Of each hunk that is divided, how many parts were shown once this slice was. */
  partsShown: Map<string, number>;
}

/** The numbers in the header of a part may be longer than those of the whole hunk. */
const HEADER_MARGIN = 32;

export function createUnreadHunks({ files, diffs, coverage, portionBytes }: UnreadOptions): UnreadHunks {
  const partsShown = new Map<string, number>();

  /** As many unread hunks, or parts of them, as `room` holds. */
  function sliceOf(diff: FileDiff, room: number): Slice {
    const slice: Slice = { diff, hunks: [], partsShown: new Map() };
    const most = portionBytes - headingBytes(diff.path);
    let left = room - headingBytes(diff.path);
    for (const number of coverage.unshown(diff.path)) {
      const hunk = diff.hunks[number - 1];
      if (!hunk) continue;
      const key = `${number} ${diff.path}`;
      // Always divided for a portion of its own, so that parts keep their numbers from one portion to the next.
      const parts = partsOf(hunk, most);
      for (let at = partsShown.get(key) ?? 0; at < parts.length; at++) {
        const part = parts[at] as Hunk;
        const bytes = bytesOf(part);
        // A line that is too long for any portion holds nothing up but the rest of its hunk.
        if (bytes > most) break;
        left -= bytes;
        if (left < 0) return slice;
        slice.hunks.push(part);
        slice.partsShown.set(key, at + 1);
      }
    }
    return slice;
  }

  return {
    async next() {
      const slices: Slice[] = [];
      let room = portionBytes;
      for (const { change } of files.filter((file) => coverage.unshown(file.change.path).length > 0)) {
        const slice = sliceOf(await diffs.fileDiff(change, 3), room);
        // What does not fit behind others comes first the next time; what never fits holds nothing else up.
        if (slice.hunks.length === 0 && slices.length > 0) break;
        if (slice.hunks.length === 0) continue;
        slices.push(slice);
        room -= shownBytes(textOf(slice)) + 1;
      }
      if (slices.length === 0) return null;
      return {
        text: wrapUntrusted("diff", slices.map(textOf).join("\n")),
        shown() {
          for (const { diff, hunks, partsShown: counts } of slices) {
            noteShown(coverage, diff, hunks);
            for (const [key, count] of counts) partsShown.set(key, count);
          }
        },
      };
    },
  };
}

const textOf = ({ diff, hunks }: Slice) => `## ${showPath(diff.path)}\n${renderHunks(hunks)}`;
const headingBytes = (path: string) => shownBytes(showPath(path)) + 4;
const lineBytes = (line: DiffLine) => shownBytes(renderLine(line)) + 1;
const bytesOf = (hunk: Hunk) =>
  shownBytes(hunkHeader(hunk)) + HEADER_MARGIN + hunk.lines.reduce((sum, line) => sum + lineBytes(line), 0);

function partsOf(hunk: Hunk, maxBytes: number): Hunk[] {
  return divideHunk(hunk, maxBytes - shownBytes(hunkHeader(hunk)) - 2 * HEADER_MARGIN, lineBytes);
}
