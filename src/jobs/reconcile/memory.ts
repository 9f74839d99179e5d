import { z } from "zod";
import type { Notes } from "../../queue/stores.ts";

/*
 * State that one run keeps for the next, so that the next one asks only for what is new. All of it can be found again: a lost database
 * costs only requests. Times are milliseconds since 1970.
 */

const pagesOf = <Item extends z.ZodType>(item: Item) =>
  z.array(z.object({ etag: z.string().nullable(), next: z.string().nullable(), items: z.array(item) }));

/** For the App as a whole. */
const AppMemory = z.object({
  /** Time of the first run with this database. */
  since: z.int(),
  installations: pagesOf(z.object({ id: z.int(), createdAt: z.int(), isSuspended: z.boolean() })),
  deliveries: z.object({
    pages: pagesOf(
      z.object({
        ...{ id: z.int(), guid: z.string(), at: z.int(), event: z.string() },
        ...{ action: z.string().nullable(), isDelivered: z.boolean() },
      }),
    ),
    /** Everything older is processed; null before the first delivery. */
    seenAt: z.int().nullable(),
    /** The time of sending, by guid, of failed deliveries that were processed: shortly before `seenAt`, or after it. */
    done: z.record(z.string(), z.int()),
  }),
});
export type AppMemory = z.infer<typeof AppMemory>;
export type DeliveryMemory = AppMemory["deliveries"];

/** A pull request when it was last looked at. */
const SeenPull = z.object({
  headSha: z.string(),
  baseRef: z.string(),
  updatedAt: z.int(),
  /** This head has a review. */
  isReviewed: z.boolean(),
  /** Number of review requests since `updatedAt`. */
  tries: z.int(),
});
export type SeenPull = z.infer<typeof SeenPull>;

const Look = z.object({
  /** When the App could first see the repository, if known. */
  firstSeen: z.int(),
  /** Start of the last complete look; null before that. */
  lookedAt: z.int().nullable(),
  /** Start of the last look, whatever its result; 0 before that. */
  triedAt: z.int(),
  pages: pagesOf(z.object({ number: z.int(), headSha: z.string(), baseRef: z.string(), updatedAt: z.int() })),
  /** The pull requests of `pages`, by number. */
  pulls: z.record(z.string(), SeenPull),
});
/** What was seen of a repository. */
export type Look = z.infer<typeof Look>;

const InstallationMemory = z.object({
  /** Number of pull requests taken up without any activity since the App was installed. */
  early: z.int(),
  repositories: pagesOf(z.object({ id: z.int(), owner: z.string(), name: z.string(), isBusy: z.boolean() })),
  /** By repository id. */
  looks: z.record(z.string(), Look),
});
export type InstallationMemory = z.infer<typeof InstallationMemory>;

/** Start of the last run for the App as a whole. */
export const lastRunNote = "reconciled";
const appNote = "reconcile";
export const installationNote = (installation: number) => `reconcile ${installation}`;

export async function readAppMemory(notes: Notes, now: number): Promise<AppMemory> {
  const known = await readAs(AppMemory, notes, appNote);
  if (known) return known;
  const first: AppMemory = {
    ...{ since: now, installations: [] },
    deliveries: { pages: [], seenAt: null, done: {} },
  };
  // At once: if this run does not finish, a later one must still know what is older than this database.
  await writeAppMemory(notes, first);
  return first;
}

export const writeAppMemory = (notes: Notes, memory: AppMemory) =>
  notes.write(appNote, JSON.stringify(memory));

/** Null if nothing is known of the installation. */
export const readInstallationMemory = (notes: Notes, installation: number) =>
  readAs(InstallationMemory, notes, installationNote(installation));

export const writeInstallationMemory = (notes: Notes, installation: number, memory: InstallationMemory) =>
  notes.write(installationNote(installation), JSON.stringify(memory));

/** Data of another version that does not parse is only forgotten. */
async function readAs<T>(shape: z.ZodType<T>, notes: Notes, name: string): Promise<T | null> {
  const text = await notes.read(name);
  if (text === null) return null;
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
