import { z } from "zod";
import type { SeenRepository } from "../pull/github/user-client.ts";
import { type Run, readRows } from "../server/queue/database.ts";
import { idList, idsIn } from "../server/queue/reader.ts";

export type VisibleRepository = SeenRepository;
export type RepositoryName = Pick<VisibleRepository, "owner" | "name">;
export const fullName = ({ owner, name }: RepositoryName): string => `${owner}/${name}`;

/** What every page finds in its context; the log-in has set it. */
export interface PagesEnv {
  Variables: { viewer: Viewer };
}

export interface Viewer {
  account: number;
  login: string;
  /** Operators of the server also see its health, and names, runs, costs and figures of all repositories; no titles or texts of the others. */
  isOperator: boolean;
  repositories: readonly VisibleRepository[];
}

/** The repository with this id, if GitHub shows it to the viewer. */
export const visibleTo = (
  { repositories }: Viewer,
  id: number | null | undefined,
): VisibleRepository | undefined => repositories.find((one) => one.id === id);

/** The ids of the repositories that GitHub shows to a viewer, as the parameter of {@link idsIn}. */
export const visibleIds = ({ repositories }: Viewer): string => idList(repositories.map(({ id }) => id));

/**
 * The ids of the repositories that a list is about; null for all of them, which only operators see.
 * @param name "owner/name" of one of them, in any case; empty for none. A name that the viewer may not see is like one that does not exist
 */
export async function scopeOf(run: Run, viewer: Viewer, name: string): Promise<readonly number[] | null> {
  const { repositories, isOperator } = viewer;
  if (name === "") return isOperator ? null : repositories.map(({ id }) => id);
  const wanted = name.toLowerCase();
  const seen = repositories.filter((one) => `${one.owner}/${one.name}`.toLowerCase() === wanted);
  if (seen.length > 0 || !isOperator) return seen.map(({ id }) => id);
  const [owner = "", repository = ""] = wanted.split("/");
  const sql = "SELECT id FROM repository WHERE lower(owner) = :owner AND lower(name) = :repository";
  return (await readRows(run, z.object({ id: z.int() }), sql, { owner, repository })).map(({ id }) => id);
}

export type Named = RepositoryName & { isVisible: boolean };

const NameRow = z.object({ id: z.int(), owner: z.string(), name: z.string() });

/** Names of the repositories of rows, by id; of those that GitHub does not show, only an operator gets the name. */
export async function namesOf(
  run: Run,
  { repositories, isOperator }: Viewer,
  rows: Iterable<{ repository: number }>,
): Promise<(id: number) => Named> {
  const names = new Map<number, Named>(
    repositories.map(({ id, owner, name }) => [id, { owner, name, isVisible: true }]),
  );
  const unknown = new Set([...rows].map(({ repository }) => repository).filter((id) => !names.has(id)));
  if (isOperator && unknown.size > 0) {
    const sql = `SELECT id, owner, name FROM repository WHERE id IN (${idsIn("ids")})`;
    for (const { id, owner, name } of await readRows(run, NameRow, sql, { ids: idList(unknown) }))
      names.set(id, { owner, name, isVisible: false });
  }
  return (id) => names.get(id) ?? { owner: "repository", name: String(id), isVisible: false };
}
