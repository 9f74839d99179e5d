import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { cutLine } from "../../core/text/cut.ts";
import { fullName } from "../../repo/code/code-file.ts";
import type { Definition, DefinitionKind } from "../../repo/code/source.ts";
import { shorten, shownBytes } from "../../repo/diff/file-diff.ts";
import type { TreeEntry } from "../../repo/git/workspace.ts";
import { fitting, type LineRange, showPath, takeLines, totalLines, unreadNotes } from "../../repo/show.ts";
import {
  type DefinitionSearch,
  type FoundDefinition,
  findDefinition,
  wantedName,
} from "./find-definition.ts";
import { resolveFile } from "./paths.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type Executed, type ToolContext, ToolError } from "./tool.ts";

const MAX_NAME = 200;
/** Maximum definitions shown whole; further ones take one line each. */
const MAX_WHOLE = 3;
const MAX_LISTED = 20;
const BODY_BYTES = 12 * 1024;
const ALL_BODIES_BYTES = 20 * 1024;
/** Maximum lines that mention a name without a definition. */
const MAX_MENTIONS = 10;
const MENTION_BYTES = 200;

const Input = z.strictObject({
  name: z.string().min(1).max(MAX_NAME).describe("parse, Parser.next ..."),
  file_path: z.string().optional().describe("Where to look first."),
  line: wholeNumber(1)
    .optional()
    .describe("A line of the definition that you want in that file, to choose an overload."),
  ref: z.enum(["head", "merge_base"]).default("head"),
});
type Input = z.infer<typeof Input>;

interface DefinitionPlace {
  file_path: string;
  kind: DefinitionKind;
  name: string;
  /** The first line of the comment above it. */
  start_line: number;
  end_line: number;
}

interface WholeDefinition extends DefinitionPlace {
  /** Lines as `12|text`; cut before `end_line` if it is long. */
  content: string;
  last_line: number;
  /** Members that begin after the last shown line. */
  members_left: DefinitionPlace[];
  total_lines: number;
  /** "latin1" if some lines are not UTF-8: their characters beyond ASCII may be wrong. */
  encoding: "utf8" | "latin1";
}

export interface DefinitionOutput {
  definitions: WholeDefinition[];
  others: DefinitionPlace[];
  /** Only if there is no definition. */
  mentions: { file_path: string; line_number: number; line_content: string }[];
}

/** The named file, or null and why it cannot be read: the name may still be defined elsewhere. */
async function firstFile(
  { file_path, ref }: Input,
  context: ToolContext,
): Promise<{ entry: TreeEntry | null; note: string | null }> {
  if (file_path === undefined) return { entry: null, note: null };
  try {
    return { entry: await resolveFile(file_path, ref, context), note: null };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { entry: null, note: `file_path was ignored: ${error.message}.` };
  }
}

const placeOf = (path: string, definition: Definition, { start, end }: LineRange): DefinitionPlace => ({
  file_path: path,
  kind: definition.kind,
  name: fullName(definition),
  start_line: start,
  end_line: end,
});
const placeOfFound = (one: FoundDefinition) => placeOf(one.entry.path, one.definition, one);

async function wholeOf(
  one: FoundDefinition,
  maxBytes: number,
  { workspace }: ToolContext,
): Promise<WholeDefinition> {
  const { text, encoding } = await workspace.readBlob(one.entry.oid);
  const lines = takeLines(text, one, maxBytes);
  const last = one.start - 1 + lines.length;
  const left = one.members.filter(({ start, kind }) => start > last && kind !== "field");
  return {
    ...placeOfFound(one),
    content: lines.join("\n"),
    last_line: last,
    members_left: left.slice(0, MAX_LISTED).map((member) => placeOf(one.entry.path, member, member)),
    total_lines: totalLines(text),
    encoding,
  };
}

async function outputOf(
  { found, naming }: DefinitionSearch,
  context: ToolContext,
): Promise<DefinitionOutput> {
  const definitions: WholeDefinition[] = [];
  let room = ALL_BODIES_BYTES;
  for (const one of found.filter(({ isBest }) => isBest).slice(0, MAX_WHOLE)) {
    if (room < BODY_BYTES / 4) break;
    const whole = await wholeOf(one, Math.min(room, BODY_BYTES), context);
    room -= shownBytes(whole.content);
    definitions.push(whole);
  }
  const others = found.slice(definitions.length, definitions.length + MAX_LISTED).map(placeOfFound);
  const mentioning = found.length > 0 ? [] : naming;
  const mentions = mentioning.flatMap(({ entry, mentions: all }) =>
    all.map(({ line, text }) => ({ file_path: entry.path, line_number: line, line_content: text })),
  );
  return { definitions, others, mentions: mentions.slice(0, MAX_MENTIONS) };
}

async function execute(
  input: Input,
  context: ToolContext,
  signal: AbortSignal,
): Promise<Executed<DefinitionOutput>> {
  const wanted = wantedName(input.name);
  const { entry: first, note } = await firstFile(input, context);
  const search = await findDefinition(
    { wanted, ref: input.ref, first, line: input.line ?? null },
    context,
    signal,
  );
  const output = await outputOf(search, context);
  const listed = output.definitions.length + output.others.length;
  const notes = [
    ...(note === null ? [] : [note]),
    ...lineNote(input, search.found),
    ...(search.found.length > listed
      ? [`${count(search.found.length - listed, "further definition")}.`]
      : []),
    ...(search.isComplete ? [] : ["Some files that hold the name were not searched."]),
    ...unreadNotes(search.unread),
  ];
  const isCut = output.definitions.some(({ last_line, end_line }) => last_line < end_line);
  const truncated = isCut || search.unread.size > 0 || !search.isComplete || search.found.length > listed;
  return { output, truncated, ...(notes.length > 0 ? { note: notes.join(" ") } : {}) };
}

/** Says that the requested line is in none of the definitions. */
function lineNote({ name, line, file_path }: Input, found: readonly FoundDefinition[]): string[] {
  if (line === undefined || found.length === 0) return [];
  if (file_path === undefined) return ["line was ignored: it needs file_path."];
  return found[0]?.hasLine ? [] : [`line was ignored: no definition of '${name}' there has line ${line}.`];
}

const shownPlace = ({ file_path, kind, name, start_line, end_line }: DefinitionPlace) =>
  `${showPath(file_path)}, ${kind} ${name}, lines ${start_line}-${end_line}`;

function wholeText(one: WholeDefinition, ref: Input["ref"]): string {
  const where = ref === "head" ? "" : ` at ${ref}`;
  const encoding = one.encoding === "latin1" ? " (not UTF-8, decoded as Latin-1)" : "";
  const heading = `${shownPlace(one)} of ${one.total_lines}${where}${encoding}`;
  const lines = [heading, ...one.content.split("\n").map(shorten)];
  if (one.last_line === one.end_line) return lines.join("\n");
  const more = {
    file_path: one.file_path,
    start_line: one.last_line + 1,
    end_line: one.end_line,
    ...(ref === "head" ? {} : { ref }),
  };
  const left = one.members_left.map(({ name, start_line, end_line }) => `${start_line}-${end_line} ${name}`);
  return [...lines, `(more of it: read_file_part ${JSON.stringify(more)})`, ...left].join("\n");
}

function withoutDefinition({ mentions }: DefinitionOutput, { name, ref }: Input, maxBytes: number) {
  const none = `No definition of '${name}' at ${ref}`;
  if (mentions.length === 0) return { text: `${none}, and no file that can be searched holds the name.` };
  const lines = mentions.map(
    (one) =>
      `${showPath(one.file_path)}:${one.line_number}: ${cutLine(one.line_content.trim(), MENTION_BYTES)}`,
  );
  return {
    text: [`${none}; the name occurs here:`, ...lines.slice(0, fitting(lines, maxBytes - 256))].join("\n"),
  };
}

/** Whether the caller named the file of a definition, relative to the repository or absolute. */
const isIn = (named: string | undefined, one: DefinitionPlace | undefined): boolean =>
  named !== undefined && one !== undefined && `/${named}`.endsWith(`/${one.file_path}`);

/** Maximum bytes of the places of others in one line. */
const OTHERS_BYTES = 400;

/** The others of the same name: a line each, or all of them in one if the named file has the name. */
function othersText(output: DefinitionOutput, { file_path }: Input, room: number): string[] {
  const { definitions, others } = output;
  if (others.length === 0) return [];
  if (isIn(file_path, definitions[0])) {
    const places = others.map((one) => `${showPath(one.file_path)}:${one.start_line}`);
    const shown = places.slice(0, fitting(places, Math.min(room, OTHERS_BYTES)));
    const more = places.length > shown.length ? ", ..." : "";
    return [`(${count(others.length, "other")} of this name: ${shown.join(", ")}${more})`];
  }
  const lines = others.map(shownPlace);
  const listed = lines.slice(0, fitting(lines, room));
  return listed.length > 0 ? [["Also defined:", ...listed].join("\n")] : [];
}

/** Says that no definition of the name belongs to the requested type, module or folder, so that what follows is of others. */
function lostQualifier({ definitions, others }: DefinitionOutput, { name }: Input): string[] {
  const { container, word } = wantedName(name);
  const isOf = (one: DefinitionPlace) =>
    [...one.name.split(/::|\./).slice(0, -1), ...one.file_path.split(/[/.]/)].includes(container ?? "");
  if (container === null || [...definitions, ...others].some(isOf)) return [];
  return [`No ${container} has a member ${word}; these are others of that name.`];
}

function render(output: DefinitionOutput, input: Input, maxBytes: number) {
  if (output.definitions.length + output.others.length === 0)
    return withoutDefinition(output, input, maxBytes);
  const bodies = output.definitions.map((one) => wholeText(one, input.ref));
  const lost = lostQualifier(output, input);
  const room = maxBytes - shownBytes([...lost, ...bodies].join("\n\n")) - 64;
  return { text: [...lost, ...bodies, ...othersText(output, input, room)].join("\n\n") };
}

export const readDefinition = defineTool<Input, DefinitionOutput>({
  name: "read_definition",
  title: "Read a definition",
  description:
    "The whole definition of a name (function, method, class, type, constant) with its comment, numbered as in read_file_part.",
  returns:
    "`definitions`, best match first (the given file, files of the change, near folders, tests last): `file_path`, `kind`, `name`, `start_line`, `end_line`, `content` (lines as `12|text`), `last_line` (less than `end_line` if the body is cut), `members_left`, `total_lines`, `encoding`; `others`, without content (one line of the text for the model if the given file has the name); `mentions`: where the name occurs, if nothing defines it.",
  example: { name: "Parser.next", file_path: "src/parser.ts" },
  kind: "read",
  input: Input,
  execute,
  render,
});
