import { z } from "zod";
import type { Notes } from "../../queue/notes.ts";

/*
 * What is remembered from one run to the next, so that the next one asks only for what is new. All of it can be found out again:
 * a lost database costs requests and nothing else. Times are milliseconds since 1970.
 */

const pagesOf = <Item extends z.ZodType>(item: Item) =>
  z.array(z.object({ etag: z.string().nullable(), next: z.string().nullable(), items: z.array(item) }));

/** Of the App as a whole. */
const AppMemory = z.object({
  /** The first run with this database. */
  since: z.int(),
  installations: pagesOf(z.object({ id: z.int(), createdAt: z.int(), isSuspended: z.boolean() })),
  deliveries: z.object({
    pages: pagesOf(
      z.object({
        ...{ id: z.int(), guid: z.string(), at: z.int(), event: z.string() },
        ...{ action: z.string().nullable(), isDelivered: z.boolean() },
      }),
    ),
    /** Everything older was dealt with; null before the first. */
    seenAt: z.int().nullable(),
    /** When these were sent, by their guid: failed ones that were dealt with shortly before `seenAt`, or after it. */
    done: z.record(z.string(), z.int()),
  }),
});
export type AppMemory = z.infer<typeof AppMemory>;
export type DeliveryMemory = AppMemory["deliveries"];

/** A pull request as it was when it was last looked at. */
const SeenPull = z.object({
  headSha: z.string(),
  baseRef: z.string(),
  updatedAt: z.int(),
  /** There is a review of this head. */
  isReviewed: z.boolean(),
  /** How often a review was asked for since `updatedAt`. */
  tries: z.int(),
});
export type SeenPull = z.infer<typeof SeenPull>;

const Look = z.object({
  /** When the App could see the repository first, as far as that is known. */
  firstSeen: z.int(),
  /** When the last look began that saw all; null before that. */
  lookedAt: z.int().nullable(),
  /** When the last look began, whatever came of it; 0 before that. */
  triedAt: z.int(),
  pages: pagesOf(z.object({ number: z.int(), headSha: z.string(), baseRef: z.string(), updatedAt: z.int() })),
  /** By their number, those of `pages`. */
  pulls: z.record(z.string(), SeenPull),
});
/** What was seen of a repository. */
export type Look = z.infer<typeof Look>;

const InstallationMemory = z.object({
  /** How many pull requests were taken up in which nothing has happened since the App came. */
  early: z.int(),
  repositories: pagesOf(z.object({ id: z.int(), owner: z.string(), name: z.string(), isBusy: z.boolean() })),
  /** By the id of the repository. */
  looks: z.record(z.string(), Look),
});
export type InstallationMemory = z.infer<typeof InstallationMemory>;

/** When the last run for the App as a whole began. */
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
  // At once: what came before this database must still be told apart when this run is not the one that ends it.
  await writeAppMemory(notes, first);
  return first;
}

export const writeAppMemory = (notes: Notes, memory: AppMemory) =>
  notes.write(appNote, JSON.stringify(memory));

/** Null where nothing is known of the installation. */
export const readInstallationMemory = (notes: Notes, installation: number) =>
  readAs(InstallationMemory, notes, installationNote(installation));

export const writeInstallationMemory = (notes: Notes, installation: number, memory: InstallationMemory) =>
  notes.write(installationNote(installation), JSON.stringify(memory));

/** What another version wrote is no more than forgotten. */
async function readAs<T>(shape: z.ZodType<T>, notes: Notes, name: string): Promise<T | null> {
  const text = await notes.read(name);
  if (text === null) return null;
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
