import { Hono } from "hono";
import { z } from "zod";
import { type Cell, csvLine } from "../report/csv.ts";
import { ask, type Parameters, type Run } from "../server/queue/database.ts";
import { idList, idsIn } from "../server/queue/reader.ts";
import { type Html, html, layout } from "./html.ts";
import { address } from "./parts.ts";
import { fullName, type Named, namesOf, type PagesEnv, type Viewer } from "./viewer.ts";

/*
 * Lists of a table by time, newest first, a page at a time. No statement reads more than the rows of a few repositories, or so many rows as
 * `Bounds` allows: a list with a rare filter shows how far it has looked, and goes on from there.
 */

export interface Table {
  name: "run" | "finding";
  order: readonly [string, ...string[]];
  /** Of the order, those whose values are text; all others are numbers. */
  texts: readonly string[];
  /** From the rows of a page, as a query, to what is shown of them. */
  select: (page: string) => string;
}

export interface Selection {
  /** Ids; null for all of them. */
  repositories: readonly number[] | null;
  /** Milliseconds since 1970; the first is inclusive. */
  since: number;
  until: number;
  /** A query of few rows in which they are looked for, instead of in the table. */
  from?: string | undefined;
  /** Conditions that an index serves together with the repository. */
  indexed: readonly string[];
  /** Conditions that no index serves. */
  filters: readonly string[];
  parameters: Parameters;
}

/** A place in a list: values of the table's order. */
export type Place = readonly (string | number)[];

export interface Part {
  rows: Record<string, unknown>[];
  /** Where an older part begins; null if there is none. */
  older: Place | null;
  /** It ended because it had looked at enough. */
  isCutOff: boolean;
}

const defaults = {
  /** Rows at which one page looks for those that pass its conditions. */
  scanned: 20_000,
  /** So few repositories are read by their indexes; of more, all rows are looked at in their order. */
  apart: 20,
};
export type Bounds = typeof defaults;

/** At most `size` rows of a list that are older than a place. */
export async function readPart(
  run: Run,
  table: Table,
  selection: Selection,
  place: Place | null,
  size: number,
  bounds: Bounds = defaults,
): Promise<Part> {
  const { repositories: ids } = selection;
  const reading: Reading = { table, selection, place };
  const isApart = ids !== null && ids.length <= bounds.apart;
  const { page, order, parameters } = isApart
    ? pageOfRepositories(reading, ids)
    : pageOfAll(reading, ids, bounds.scanned);
  const given = { ...parameters, limit: size + 1 };
  const found = page === "" ? [] : (await ask(run, `${table.select(page)} ORDER BY ${order}`, given)).rows;
  if (found.length > size) {
    const rows = found.slice(0, size);
    return { rows, older: placeOf(table, rows.at(-1)), isCutOff: false };
  }
  const end = isApart ? null : await endOfScan(run, reading, bounds.scanned);
  if (end === null) return { rows: found, older: null, isCutOff: false };
  // More rows may have the time at which the look ended. The place is before all of them, because the row at the end may be one that the
  // reader of the list must not know.
  const [time = 0, ...rest] = end;
  const older = [Number(time) + 1, ...rest.map((value) => (typeof value === "string" ? "" : -1))];
  return { rows: found.filter((row) => row[table.order[0]] !== time), older, isCutOff: true };
}

interface Reading {
  table: Table;
  selection: Selection;
  /** Null for the begin of the list. */
  place: Place | null;
}

/** The rows that lie within the time and beyond the place, and their order. */
function rowsOf({ table: { name, order }, selection, place }: Reading) {
  const [time] = order;
  const places = order.map((_, index) => `:place${index}`).join(", ");
  // The time has one upper bound: with two, SQLite takes either of them, and may walk from the begin of the list to the place.
  const before = place === null ? selection.until : Math.min(selection.until, Number(place[0]) + 1);
  return {
    from: `SELECT * FROM ${selection.from ?? name} WHERE ${time} >= :since AND ${time} < :until${
      place === null ? "" : ` AND (${order.join(", ")}) < (${places})`
    }`,
    order: order.map((column) => `${column} DESC`).join(", "),
    parameters: {
      ...selection.parameters,
      ...Object.fromEntries((place ?? []).map((value, index) => [`place${index}`, value])),
      since: selection.since,
      until: before,
    },
  };
}

/** A page of the rows of some repositories, each read by its index; empty for none. */
function pageOfRepositories(reading: Reading, ids: readonly number[]) {
  const { from, order, parameters } = rowsOf(reading);
  const { indexed, filters } = reading.selection;
  const page = ids
    .map((_, index) => {
      const found = [from, `repository = :repository${index}`, ...indexed].join(" AND ");
      const rows = [`SELECT * FROM (${found}) AS scanned WHERE 1 = 1`, ...filters].join(" AND ");
      return `SELECT * FROM (${rows} ORDER BY ${order} LIMIT :limit) AS part`;
    })
    .join(" UNION ALL ");
  return {
    page: page === "" ? "" : `SELECT * FROM (${page}) AS parts ORDER BY ${order} LIMIT :limit`,
    order,
    parameters: { ...parameters, ...Object.fromEntries(ids.map((id, index) => [`repository${index}`, id])) },
  };
}

/** A page of the rows of all or of many repositories, as far as they are looked at. */
function pageOfAll(reading: Reading, ids: readonly number[] | null, scanned: number) {
  const { from, order, parameters } = rowsOf(reading);
  const { indexed, filters } = reading.selection;
  const among = ids === null ? "1 = 1" : `repository IN (${idsIn("among")})`;
  const conditions = [...filters, ...indexed, among].join(" AND ");
  return {
    page: `SELECT * FROM (${from} ORDER BY ${order} LIMIT :scanned) AS scanned WHERE ${conditions} ORDER BY ${order} LIMIT :limit`,
    order,
    parameters: { ...parameters, scanned, among: idList(ids ?? []) },
  };
}

/** The row at which a look at the rows of all repositories ended; null at the end of the list. */
async function endOfScan(run: Run, reading: Reading, scanned: number): Promise<Place | null> {
  const { from, order, parameters } = rowsOf(reading);
  const sql = `${from} ORDER BY ${order} LIMIT 1 OFFSET :skipped`;
  const [row] = (await ask(run, sql, { ...parameters, skipped: scanned - 1 })).rows;
  return row ? placeOf(reading.table, row) : null;
}

const Value = z.union([z.string(), z.number()]);
const placeOf = (table: Table, row: Record<string, unknown> | undefined): Place =>
  table.order.map((column) => Value.parse(row?.[column]));

/** The place of an address; null if it is none. The last value may contain dots. */
function placeIn(table: Table, text: string): Place | null {
  const { length } = table.order;
  const parts = text.split(".");
  const values = [...parts.slice(0, length - 1), parts.slice(length - 1).join(".")];
  const place = table.order.map((column, index) =>
    table.texts.includes(column) ? (values[index] ?? "") : Number(values[index] || Number.NaN),
  );
  return place.every((value) => typeof value === "string" || Number.isSafeInteger(value)) ? place : null;
}

/** A page of a list, and the rows that a file has at most. */
const [PAGE, MOST_CSV_ROWS] = [50, 10_000];
/** Parts of a list that are read for one file: few of very many rows may pass a filter. */
const MOST_PARTS = 40;
/** The last line of a file without all rows. */
const CUT = "Older rows are left out here: choose fewer days or repositories.";

/** What somebody has written into a field; empty for nothing. */
export const Text = z
  .string()
  .catch("")
  .transform((value) => value.trim().slice(0, 300));
/** A day as "2026-11-27"; empty for any. */
export const Day = z.iso.date().catch("").default("");
/** Where a list goes on. */
export const Paging = { older: Text };

/** The conditions whose field was filled in. */
export const conditions = (fields: Readonly<Record<string, string>>): string[] =>
  Object.keys(fields).filter((condition) => fields[condition] !== "");

/** The times of the days from one to another, both included. */
export const between = (from: string, to: string): Pick<Selection, "since" | "until"> => ({
  since: from === "" ? 0 : Date.parse(from),
  until: to === "" ? Number.MAX_SAFE_INTEGER : Date.parse(to) + 86_400_000,
});

interface List<Row, Query> {
  path: "/reviews" | "/findings";
  title: string;
  /** What one row is: "run". */
  noun: string;
  table: Table;
  Row: z.ZodType<Row>;
  /** What an address asks for. Each field is empty if it does not matter. */
  Query: z.ZodType<Query>;
  select(run: Run, viewer: Viewer, query: Query): Promise<Selection>;
  form(query: Query, viewer: Viewer): Html;
  rows(rows: readonly Row[], names: (id: number) => Named): Html;
  note?: Html;
  /** The columns of the file, and how a cell is written that is not the field of that name. */
  csv: readonly string[];
  cells: Readonly<Record<string, (row: Row, repository: Named) => Cell>>;
}

/** The page of a list, at its path, and the file, at its path with `.csv`. */
export function listRoutes<
  Row extends Record<string, Cell> & { repository: number },
  Query extends Record<string, string> & { older: string },
>(run: Run, list: List<Row, Query>): Hono<PagesEnv> {
  const { path, title, noun, table, csv } = list;
  const cells: typeof list.cells = { repository: (_, repository) => fullName(repository), ...list.cells };
  const Rows = z.array(list.Row);
  async function* lines(viewer: Viewer, selection: Selection): AsyncGenerator<Cell[]> {
    let place: Place | null = null;
    let [left, parts] = [MOST_CSV_ROWS, 0];
    do {
      const part: Part = await readPart(run, table, selection, place, Math.min(500, left));
      const rows = Rows.parse(part.rows);
      const names = await namesOf(run, viewer, rows);
      for (const row of rows)
        yield csv.map((name) => cells[name]?.(row, names(row.repository)) ?? row[name] ?? null);
      left -= rows.length;
      place = part.older;
    } while (place && left > 0 && ++parts < MOST_PARTS);
    if (place) yield csv.map((_, column) => (column === 0 ? CUT : null));
  }
  return new Hono<PagesEnv>()
    .get(path, async (context) => {
      const viewer = context.get("viewer");
      const query = list.Query.parse(context.req.query());
      const place = placeIn(table, query.older);
      const part = await readPart(run, table, await list.select(run, viewer, query), place, PAGE);
      const rows = Rows.parse(part.rows);
      const body = html`${list.form(query, viewer)}
${rows.length > 0 ? list.rows(rows, await namesOf(run, viewer, rows)) : html`<p class="empty">No ${noun}${part.isCutOff && " among those that were looked at"}.</p>`}
${part.isCutOff && html`<p class="note">The list stops here after a search of very many ${noun}s. <em>Older</em> continues it.</p>`}
${pager(path, query, part)}${list.note}`;
      return context.html(layout({ title, viewer, section: path, body }));
    })
    .get(`${path}.csv`, async (context) => {
      const viewer = context.get("viewer");
      const selection = await list.select(run, viewer, list.Query.parse(context.req.query()));
      return csvAnswer(`${path.slice(1)}.csv`, csv, lines(viewer, selection));
    });
}

function pager(path: string, query: Readonly<Record<string, string>>, { older }: Part): Html {
  const filters = { ...query, older: "" };
  return html`<nav class="pager" aria-label="More of this list"><ul>
${query.older && html`<li><a href="${address(path, filters)}">Newest</a></li>`}
${older && html`<li><a href="${address(path, { ...filters, older: older.join(".") })}" rel="next">Older</a></li>`}
<li><a href="${address(`${path}.csv`, filters)}">CSV of this list</a></li></ul></nav>`;
}

/** An answer that is written as its lines come: a large file needs no memory. */
export function csvAnswer(
  name: string,
  head: readonly string[],
  lines: AsyncIterable<readonly Cell[]>,
): Response {
  async function* text() {
    yield csvLine(head);
    for await (const line of lines) yield csvLine(line);
  }
  return new Response(ReadableStream.from(text()).pipeThrough(new TextEncoderStream()), {
    headers: {
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": `attachment; filename="${name}"`,
    },
  });
}
