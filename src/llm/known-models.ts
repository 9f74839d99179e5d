import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** What a probe found out of a model. */
export interface Ability {
  callsTools: boolean;
  writesJson: boolean;
  /** As the endpoint tells it; null where it does not. */
  contextTokens: number | null;
}

/** What was found out earlier, so that no review pays for it again. */
export interface KnownModels {
  /** Null where nothing is known, or nothing that is recent enough. */
  recall(key: string): Promise<Ability | null>;
  /** Where the folder cannot be written to, nothing is kept. */
  remember(key: string, ability: Ability): Promise<void>;
}

/** Servers are updated, and models change behind their names. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
const MAX_MODELS = 200;

const Row = z.object({
  probed_at: z.int(),
  calls_tools: z.boolean(),
  writes_json: z.boolean(),
  context_tokens: z.int().nullable(),
});
const Table = z.record(z.string(), Row);
type Table = z.infer<typeof Table>;

/** The key of a model at an address. A hash: addresses of private servers, and keys in them, are nobody's business. */
export const modelKey = (address: string, model: string): string =>
  createHash("sha256")
    .update(JSON.stringify([address, model]))
    .digest("hex");

/** Keeps what it is told in `models.json` of a folder; without a folder nothing. `now` is in milliseconds. */
export function openKnownModels(folder: string | null, now: () => number = Date.now): KnownModels {
  if (folder === null) return { recall: async () => null, remember: async () => {} };
  const file = join(folder, "models.json");
  return {
    async recall(key) {
      const { [key]: row } = await read(file);
      if (!row || now() - row.probed_at > KEPT_MS) return null;
      return { callsTools: row.calls_tools, writesJson: row.writes_json, contextTokens: row.context_tokens };
    },
    async remember(key, { callsTools, writesJson, contextTokens }) {
      const row = {
        probed_at: now(),
        calls_tools: callsTools,
        writes_json: writesJson,
        context_tokens: contextTokens,
      };
      const rows = Object.entries({ ...(await read(file)), [key]: row });
      const newest = rows.toSorted(([, a], [, b]) => b.probed_at - a.probed_at).slice(0, MAX_MODELS);
      // A folder that is read-only or full costs the next process a probe, nothing else.
      await write(folder, file, Object.fromEntries(newest)).catch(() => {});
    },
  };
}

/** A file that is missing or damaged says nothing. */
async function read(file: string): Promise<Table> {
  try {
    return Table.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return {};
  }
}

/** Whole or not at all: another process may read it at any time. */
async function write(folder: string, file: string, table: Table): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  try {
    await writeFile(temporary, `${JSON.stringify(table, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
