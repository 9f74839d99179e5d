import { Hono } from "hono";
import { z } from "zod";
import { type Cell, csvLine } from "../report/csv.ts";
import type { Parameters, Result, Run } from "../server/queue/database.ts";
import { idList, idsIn } from "../server/queue/reader.ts";
import { type Html, html, layout } from "./html.ts";
import { address } from "./parts.ts";
import { type Named, namesOf, type PagesEnv, type Viewer } from "./viewer.ts";

/*
 * Lists of a table by time, newest first, a page at a time. No statement reads more than an index says belongs to the list, or so many rows
 * as `Bounds` allows: a list with a rare filter shows how far it has looked, and goes on from there.
 */

export interface Table {
  name: "run" | "finding";
  /** Columns that are the order, of which the first is the time, and which identify a row. */
  order: readonly [string, ...string[]];
  /** The primary key. */
  identity: readonly string[];
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
  /** Where the rows are looked for, instead of in the table: a query of few rows, by an index of its own. */
  from?: string | undefined;
  /** Conditions that an index serves together with the repository. */
  indexed: readonly string[];
  /** Conditions on the columns of a row that no index serves. */
  filters: readonly string[];
  /** Of all conditions and of `Table.select`. */
  parameters: Parameters;
}

/** A place in a list: values of the table's order. */
export type Place = readonly (string | number)[];
export interface Position {
  /** Older or newer than `place`. */
  direction: "older" | "newer";
  /** Null for the begin of the list. */
  place: Place | null;
}

export interface Part {
  /** Newest first. */
  rows: Record<string, unknown>[];
  /** Where an older or newer part begins; null if there is none. */
  older: Place | null;
  newer: Place | null;
  /** True if it ended because it had looked at enough, not because there is no more. */
  isCutOff: boolean;
}

export interface Bounds {
  /** Rows at which one page looks for those that pass a filter. */
  scanned: number;
  /** Repositories that are asked one by one, each by its index; beyond, rows of all repositories are looked at in their order. */
  apart: number;
  /** Rows that the repositories return together if they are asked one by one. */
  rows: number;
}
const defaults: Bounds = { scanned: 20_000, apart: 20, rows: 6_000 };

/** Parts of a list that are read for one file. */
const MOST_PARTS = 40;

/** The rows of a list from its begin, newest first, at most `most`; fewer if a filter lets only few of very many rows pass. */
async function* readAll(run: Run, table: Table, selection: Selection, most: number) {
  let place: Place | null = null;
  let left = most;
  for (let parts = 0; parts < MOST_PARTS && left > 0; parts++) {
    const part: Part = await readPart(
      run,
      table,
      selection,
      { direction: "older", place },
      Math.min(500, left),
    );
    yield part.rows;
    left -= part.rows.length;
    place = part.older;
    if (place === null) return;
  }
}

/** At most `size` rows of a list. */
export async function readPart(
  run: Run,
  table: Table,
  selection: Selection,
  position: Position,
  size: number,
  bounds: Bounds = defaults,
): Promise<Part> {
  const { rows, stop } = await readSome({ run, table, selection, position, limit: size + 1, bounds });
  const shown = rows.slice(0, size);
  const ends = rows.length > size ? placeOf(table, shown.at(-1)) : stop;
  const isOlder = position.direction === "older";
  const ordered = isOlder ? shown : shown.toReversed();
  const back = position.place && (shown.length > 0 ? placeOf(table, shown[0]) : position.place);
  const isCutOff = stop !== null && rows.length <= size;
  return { rows: ordered, older: isOlder ? ends : back, newer: isOlder ? back : ends, isCutOff };
}

/** How the statements of one list read. */
interface Reading {
  run: Run;
  table: Table;
  selection: Selection;
  position: Position;
  limit: number;
  bounds: Bounds;
}

interface Some {
  /** In the direction of reading. */
  rows: Record<string, unknown>[];
  /** How far was looked, if not to the end. */
  stop: Place | null;
}

async function readSome(reading: Reading): Promise<Some> {
  const { selection, limit, bounds } = reading;
  const { repositories, filters, indexed } = selection;
  const walk = (more: readonly string[], parameters: Parameters) => {
    const all = { ...selection, indexed: [], filters: [...filters, ...indexed, ...more] };
    return readOne({ ...reading, selection: { ...all, parameters } }, null, bounds.scanned);
  };
  if (repositories === null) return joined(reading, [await walk([], selection.parameters)]);
  let ids = repositories;
  if (ids.length > bounds.apart && filters.length === 0) ids = await firstOf(reading, ids);
  const isApart = ids.length * limit <= bounds.rows && (filters.length === 0 || ids.length <= bounds.apart);
  if (!isApart)
    return joined(reading, [
      await walk([`repository IN (${idsIn("among")})`], { ...selection.parameters, among: idList(ids) }),
    ]);
  const scanned = Math.max(1, Math.floor(bounds.scanned / Math.max(1, ids.length)));
  return joined(reading, await Promise.all(ids.map((id) => readOne(reading, id, scanned))));
}

/** Of parts that were looked through to different depths, what lies before the end of the shortest. */
function joined({ table, position, limit }: Reading, parts: readonly Some[]): Some {
  const byOrder = orderOf(position);
  const stop = parts.flatMap((part) => (part.stop ? [part.stop] : [])).toSorted(byOrder)[0] ?? null;
  const rows = parts
    .flatMap((part) => part.rows.map((row) => ({ row, place: placeOf(table, row) })))
    .toSorted((one, other) => byOrder(one.place, other.place))
    .filter(({ place }) => stop === null || byOrder(place, stop) <= 0)
    .slice(0, limit)
    .map(({ row }) => row);
  return { rows, stop };
}

/** Compares places in the direction of reading. */
function orderOf({ direction }: Position) {
  const sign = direction === "older" ? 1 : -1;
  return (one: Place, other: Place) => sign * compareNewestFirst(one, other);
}

/** The rest of an order are texts of one repository, which their database has put in order. */
function compareNewestFirst(one: Place, other: Place): number {
  for (const [index, value] of one.entries()) {
    const against = other[index];
    if (typeof value !== "number" || typeof against !== "number") return 0;
    if (value !== against) return against - value;
  }
  return 0;
}

/** Without filters, only the repositories with the first rows can be on a page. */
async function firstOf(reading: Reading, ids: readonly number[]): Promise<number[]> {
  const { run, table, selection, position, limit } = reading;
  const [time] = table.order;
  const [how] = ways[position.direction];
  const { where, parameters } = within(reading, "CAST(one.key AS BIGINT)");
  const { rows } = await ask(
    run,
    `SELECT id FROM (SELECT CAST(one.key AS BIGINT) AS id, (SELECT ${time} FROM ${selection.from ?? table.name} WHERE ${where}
      ORDER BY ${inOrder(table, how)} LIMIT 1) AS first FROM json_each(:ids) AS one) AS firsts
    WHERE first IS NOT NULL ORDER BY first ${how} LIMIT :limit`,
    { ...selection.parameters, ...parameters, ids: idList(ids), limit },
  );
  return rows.map(({ id }) => z.int().parse(id));
}

const ways = { older: ["DESC", "<"], newer: ["ASC", ">"] } as const;
const inOrder = ({ order }: Table, how: string) => order.map((column) => `${column} ${how}`).join(", ");

/** What an index finds: the rows of a repository, or of all, within the time and beyond the position. */
function within({ table, selection, position }: Reading, repository: string | null) {
  const { order } = table;
  const { place, direction } = position;
  const [time] = order;
  const [, beyond] = ways[direction];
  const places = order.map((_, index) => `:place${index}`).join(", ");
  const where = [
    ...(repository === null ? [] : [`repository = ${repository}`]),
    ...selection.indexed,
    `${time} >= :since AND ${time} < :until`,
    ...(place === null ? [] : [`(${order.join(", ")}) ${beyond} (${places})`]),
  ].join(" AND ");
  // The time has one bound on each side: with two, SQLite takes either of them, and may walk from the begin of the list to the place.
  const [at] = place ?? [];
  const since =
    direction === "newer" && typeof at === "number" ? Math.max(selection.since, at) : selection.since;
  const until =
    direction === "older" && typeof at === "number" ? Math.min(selection.until, at + 1) : selection.until;
  const given = Object.fromEntries((place ?? []).map((value, index) => [`place${index}`, value]));
  return { where, parameters: { ...given, since, until } satisfies Parameters };
}

/** The rows of one repository, or of all, in their order, as the end of a statement. */
function statementOf(reading: Reading, repository: number | null) {
  const { table, selection, position, limit } = reading;
  const { where, parameters } = within(reading, repository === null ? null : ":repository");
  const [how] = ways[position.direction];
  return {
    inner: `FROM ${selection.from ?? table.name} WHERE ${where} ORDER BY ${inOrder(table, how)}`,
    parameters: { ...selection.parameters, ...parameters, repository, limit } satisfies Parameters,
  };
}

/** The rows of one repository, or of all. */
async function readOne(reading: Reading, repository: number | null, scanned: number): Promise<Some> {
  const { run, table, selection, position, limit } = reading;
  const { filters } = selection;
  const { inner, parameters: given } = statementOf(reading, repository);
  const parameters = { ...given, scanned, skipped: scanned - 1 };
  const order = inOrder(table, ways[position.direction][0]);
  const identity = table.identity.join(", ");
  // The order is that of an index, which holds the primary key: the rows themselves are read only for what is shown.
  const page =
    filters.length === 0
      ? `SELECT * FROM ${table.name} WHERE (${identity}) IN (SELECT ${identity} ${inner} LIMIT :limit)`
      : `SELECT * FROM (SELECT * ${inner} LIMIT :scanned) AS scanned WHERE ${filters.join(" AND ")} ORDER BY ${order} LIMIT :limit`;
  const { rows } = await ask(run, `${table.select(page)} ORDER BY ${order}`, parameters);
  if (filters.length === 0 || rows.length === limit) return { rows, stop: null };
  const end = await ask(run, `SELECT ${table.order.join(", ")} ${inner} LIMIT 1 OFFSET :skipped`, parameters);
  return { rows, stop: end.rows[0] ? withoutRow(reading, placeOf(table, end.rows[0])) : null };
}

/**
 * The place before all rows of its time: the row at which a look through a table ends may be one that the reader of the list must not know.
 * The place itself, if nothing lies between it and where the look began.
 */
function withoutRow({ position }: Reading, place: Place): Place {
  const [time = 0, ...rest] = place;
  const isOlder = position.direction === "older";
  const beyond = rest.map((value) =>
    typeof value === "string" ? "" : isOlder ? -1 : Number.MAX_SAFE_INTEGER,
  );
  const before = [Number(time) + (isOlder ? 1 : -1), ...beyond];
  return position.place === null || orderOf(position)(position.place, before) < 0 ? before : place;
}

/** Runs a statement with those of the parameters that it has: SQLite refuses others. */
export function ask(run: Run, sql: string, parameters: Parameters): Promise<Result> {
  const names = new Set(Array.from(sql.matchAll(/:(\w+)/g), ([, name]) => name));
  return run(sql, Object.fromEntries(Object.entries(parameters).filter(([name]) => names.has(name))));
}

const Value = z.union([z.string(), z.number()]);
const placeOf = (table: Table, row: Record<string, unknown> | undefined): Place =>
  table.order.map((column) => Value.parse(row?.[column]));

/** A place in an address. */
const placeText = (place: Place): string => place.join(".");

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

/** What somebody has written into a field; empty for nothing. */
export const Text = z
  .string()
  .catch("")
  .transform((value) => value.trim().slice(0, 300));
/** A day as "2026-11-27"; empty for any. */
export const Day = z.iso.date().catch("").default("");
/** Where a list goes on. */
export const Paging = { older: Text, newer: Text };

/** The times of the days from one to another, both included. */
export const between = (from: string, to: string): Pick<Selection, "since" | "until"> => ({
  since: from === "" ? 0 : Date.parse(from),
  until: to === "" ? Number.MAX_SAFE_INTEGER : Date.parse(to) + 86_400_000,
});

/** A list as a page and as a file. */
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
  /** The form of filters. */
  form(query: Query, viewer: Viewer): Html;
  rows(rows: readonly Row[], names: (id: number) => Named): Html;
  /** Below the list. */
  note?: Html;
  /** The columns of the file. */
  csv: Readonly<Record<string, (row: Row, repository: Named) => Cell>>;
}

/** The page of a list, at its path, and the file, at its path with `.csv`. */
export function listRoutes<
  Row extends { repository: number },
  Query extends Record<string, string> & Record<keyof typeof Paging, string>,
>(run: Run, list: List<Row, Query>): Hono<PagesEnv> {
  const { path, title, noun, table } = list;
  const Rows = z.array(list.Row);
  async function* lines(viewer: Viewer, selection: Selection): AsyncGenerator<Cell[]> {
    for await (const part of readAll(run, table, selection, MOST_CSV_ROWS)) {
      const rows = Rows.parse(part);
      const names = await namesOf(run, viewer, rows);
      for (const row of rows) yield Object.values(list.csv).map((cell) => cell(row, names(row.repository)));
    }
  }
  return new Hono<PagesEnv>()
    .get(path, async (context) => {
      const viewer = context.get("viewer");
      const query = list.Query.parse(context.req.query());
      const { older, newer } = query;
      const direction = newer === "" ? "older" : "newer";
      const position: Position = { direction, place: placeIn(table, newer || older) };
      const part = await readPart(run, table, await list.select(run, viewer, query), position, PAGE);
      const rows = Rows.parse(part.rows);
      const body = html`${list.form(query, viewer)}
${rows.length > 0 ? list.rows(rows, await namesOf(run, viewer, rows)) : html`<p class="empty">No ${noun}${part.isCutOff && " among those that were looked at"}.</p>`}
${part.isCutOff && html`<p class="note">The list ends here because very many ${noun}s were looked at; it goes on with the older ones.</p>`}
${pager(path, query, part)}${list.note}`;
      return context.html(layout({ title, viewer, section: path, body }));
    })
    .get(`${path}.csv`, async (context) => {
      const viewer = context.get("viewer");
      const selection = await list.select(run, viewer, list.Query.parse(context.req.query()));
      return csvAnswer(`${path.slice(1)}.csv`, Object.keys(list.csv), lines(viewer, selection));
    });
}

/** Links to the other parts of a list, with the same filters. */
function pager(path: string, query: Readonly<Record<string, string>>, { older, newer }: Part): Html {
  const filters = { ...query, older: "", newer: "" };
  const isFirst = !query.older && !query.newer;
  return html`<nav class="pager" aria-label="More of this list"><ul>
${!isFirst && html`<li><a href="${address(path, filters)}">Newest</a></li>`}
${newer !== null && html`<li><a href="${address(path, { ...filters, newer: placeText(newer) })}" rel="prev">Newer</a></li>`}
${older !== null && html`<li><a href="${address(path, { ...filters, older: placeText(older) })}" rel="next">Older</a></li>`}
<li><a href="${address(`${path}.csv`, filters)}">CSV of this list</a></li></ul></nav>`;
}

/** An answer that is written as its lines come, so that a large file needs no memory. */
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
