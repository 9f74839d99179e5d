import { isDeepStrictEqual } from "node:util";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  stringify,
} from "yaml";
import { loadRepoConfig } from "../../../config/load-config.ts";
import { parseRepoConfig } from "../../../config/parse-config.ts";
import { isEnforced, isRuleEnforced, type RepoConfig } from "../../../config/repo-config.ts";
import { AppError, publicLine } from "../../../core/errors.ts";
import { count } from "../../../core/text/count.ts";
import { cutAtLine } from "../../../core/text/cut.ts";
import { inertMessage } from "../../../core/text/inert-text.ts";
import type { FileProposal } from "../../../pull/github/pull-request-api.ts";
import { publicPlain, publicText } from "../../../pull/publish/public-text.ts";
import { untrustedCode, untrustedFence, untrustedLine } from "../../../report/safe-markdown.ts";
import { severeOnly } from "../../figures/insights.ts";
import type { Act, ActTask, JobOutcome } from "../../queue/job.ts";
import { requireLease } from "../../queue/run-job.ts";
import { type AskedContext, answered, type CommandContext, pageOf } from "./command-context.ts";

/** The new text of a file, or the reason why there is none, for the person who asked. */
type EditedFile = { ok: true; text: string } | { ok: false; reason: string };

type Instruction = RepoConfig["instructions"][number];

/**
 * Adds a rule for all files to the text of a configuration; null for a file that does not exist yet. Inserts lines where it can, which keeps
 * comments and layout.
 */
export function addRule(text: string | null, rule: string): EditedFile {
  const one: Instruction = { path: "**", text: rule };
  return edited(text, {
    refuse: ({ instructions }) =>
      instructions.some(({ path, text }) => path === "**" && sameWords(text, rule))
        ? "the configuration already has this rule"
        : null,
    ways: [
      (before) => inserted(before, one),
      (before) =>
        rewritten(before, (document) => {
          if (document.get("instructions") == null) document.set("instructions", document.createNode([one]));
          else document.addIn(["instructions"], document.createNode(one));
        }),
    ],
    wanted: (config) => ({ ...config, instructions: [...config.instructions, one] }),
    otherwise: "the `instructions` in the configuration must be a list",
  });
}

/** The text of a configuration with a rule of an analyzer switched off; null for a file that does not exist yet. Comments stay. */
export function switchOff(text: string | null, rule: string): EditedFile {
  return edited(text, {
    refuse: ({ rules }) =>
      Object.hasOwn(rules, rule) ? `the configuration already has a setting for the rule ${rule}` : null,
    ways: [(before) => rewritten(before, (document) => document.setIn(["rules", rule], "off"))],
    wanted: (config) => ({ ...config, rules: { ...config.rules, [rule]: "off" } }),
    otherwise: "the `rules` in the configuration must be a map",
  });
}

interface Wanted {
  /** Why the configuration needs no change; null if it does. */
  refuse(config: RepoConfig): string | null;
  /** Texts to try in turn; null if there is none in that way. */
  ways: readonly ((text: string) => string | null)[];
  wanted(config: RepoConfig): RepoConfig;
  otherwise: string;
}

/** The first of the texts that says what is wanted and nothing else. */
function edited(text: string | null, { refuse, ways, wanted, otherwise }: Wanted): EditedFile {
  const before = parseRepoConfig(text ?? "");
  if (!before.ok)
    return { ok: false, reason: "the configuration is invalid; run `hunkwise config check` to see why" };
  const refusal = refuse(before.config);
  if (refusal !== null) return { ok: false, reason: refusal };
  for (const way of ways) {
    const after = way(text ?? "");
    const parsed = parseRepoConfig(after ?? "");
    if (after !== null && parsed.ok && isDeepStrictEqual(parsed.config, wanted(before.config)))
      return { ok: true, text: after };
  }
  return { ok: false, reason: otherwise };
}

const sameWords = (a: string, b: string) => a.replace(/\s+/g, " ").trim() === b.replace(/\s+/g, " ").trim();

/** Puts the rule's lines after those of the list, or at the end of a file without a list; null if they cannot go there. */
function inserted(text: string, rule: Instruction): string | null {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, logLevel: "silent" });
  const ended = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return ended + listOf(rule);
  if (!isMap<ParsedNode, ParsedNode | null>(contents) || contents.flow) return null;
  const pair = contents.items.find(({ key }) => isScalar(key) && key.value === "instructions");
  if (pair === undefined) return ended + listOf(rule);
  const list = pair.value;
  if (!isSeq(list) || list.flow || list.range == null) return null;
  const column = lines.linePos(list.range[0]).col - 1;
  const at = ended.slice(0, list.range[1]).trimEnd().length;
  const line = ended.indexOf("\n", at) + 1;
  return ended.slice(0, line) + indented(itemOf(rule), column) + ended.slice(line);
}

const itemOf = (rule: Instruction) => stringify([rule], { lineWidth: 0 });
const listOf = (rule: Instruction) => `instructions:\n${indented(itemOf(rule), 2)}`;
const indented = (text: string, columns: number) => text.replace(/^(?=.)/gm, " ".repeat(columns));

/** Null if the file is broken, or the changed value has another form. */
function rewritten(text: string, change: (document: Document) => void): string | null {
  const document = parseDocument(text, { logLevel: "silent" });
  try {
    change(document);
    return document.toString({ lineWidth: 0 });
  } catch {
    return null;
  }
}

/** The change between two texts of a file as a unified diff that git accepts; null for a file that does not exist yet. */
export function patchOf(path: string, before: string | null, after: string): string {
  const from = before === null ? "/dev/null" : `a/${path}`;
  return createTwoFilesPatch(from, `b/${path}`, before ?? "", after, undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  });
}

/** Characters. A rule is a sentence or two; longer rules belong in a guideline file. */
const LONGEST = 500;
/** GitHub rejects comments longer than 65,536 characters. */
const MOST_PATCH_BYTES = 50_000;
const NEW_FILE = ".github/hunkwise.yml";

/** Proposes a rule for later reviews in a pull request that changes the configuration, or shows the patch if we may not write. */
export async function remember(context: CommandContext, text: string): Promise<JobOutcome> {
  const { api } = context;
  const rule = text.replace(/\r\n?/g, "\n").trim();
  if (rule.length > LONGEST)
    return answered(
      context,
      `A rule may have at most ${LONGEST} characters. This one has ${rule.length}.`,
      "it is too long",
    );
  const pull = await api.pull();
  const change = await configChange(context, pull.baseRef, {
    ...ofInstructions,
    edit: (before) => addRule(before, rule),
  });
  if ("refused" in change) return answered(context, change.refused, "it cannot be added");
  const { comment, by } = context;
  // The ids of the two kinds of comments may coincide.
  const asking = comment.thread === null ? `${comment.id}` : `review-${comment.id}`;
  const { says, isOpened } = await proposeChange(context, change, {
    branch: `hunkwise/remember-${asking}`,
    base: pull.baseRef,
    title: publicPlain("Add a rule for reviews"),
    body: publicText(
      [
        `${untrustedCode(by)} asked for this rule in [a comment](${pageOf(context)}). Once this is merged, reviews of pull requests into ${inertMessage(untrustedCode(pull.baseRef))} follow it:`,
        inertMessage(untrustedFence(rule)),
      ].join("\n\n"),
    ),
  });
  return answered(context, says, isOpened ? "proposed" : "shown as a patch: it may not write");
}

interface ConfigChange {
  path: string;
  before: string | null;
  after: string;
}

interface Edit {
  /** The setting that changes, as people read it. */
  key: string;
  /** Whether the organization's policy decides about it. */
  isEnforced(config: RepoConfig): boolean;
  /** The new text, from the file's. */
  edit(before: string | null): EditedFile;
}

const ofInstructions = {
  key: "instructions",
  isEnforced: (config: RepoConfig) => isEnforced(config, "instructions"),
};

/** The change of the configuration file of a branch; or why there is none, for people. */
async function configChange(
  { api, deps, job, tools }: AskedContext,
  branch: string,
  { key, edit, isEnforced }: Edit,
): Promise<ConfigChange | { refused: string }> {
  const texts = new Map<string, string | undefined>();
  async function read(path: string): Promise<string | undefined> {
    const text = await api.fileAt(path, branch);
    texts.set(path, text);
    return text;
  }
  const readOrganization = await deps.github.organization(job.task.repository, tools.signal);
  const { requiresPolicy } = deps.settings;
  try {
    const { config, path, inherited } = await loadRepoConfig(read, { readOrganization, requiresPolicy });
    if (isEnforced(config)) return { refused: enforced(key) };
    // A file here would replace the organization's file with everything in it.
    if (inherited) return { refused: inheritedBy(key) };
    const file = path ?? NEW_FILE;
    const before = texts.get(file) ?? null;
    const added = edit(before);
    if (!added.ok) return { refused: `Not added: ${untrustedLine(added.reason, 600)}.` };
    return { path: file, before, after: added.text };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "config_invalid") throw error;
    return { refused: `Not added: ${untrustedLine(publicLine(error), 600)}.` };
  }
}

const inheritedBy = (key: string) =>
  `Not added: this repository uses the configuration of its organization, and a file here would replace all of it. Add the rule to the organization's file, under \`${key}\`, or create a file here with the settings that you want to keep.`;

const enforced = (key: string) =>
  `Not added: the organization's policy enforces \`${key}\`, so a rule in this repository would have no effect. Add it to the organization's file.`;

/** Opens a pull request with the change. Resolves to its page, or to the patch if we may not write. */
async function proposeChange(
  { deps, job, tools }: AskedContext,
  { path, before, after }: ConfigChange,
  proposal: Omit<FileProposal, "path" | "text">,
): Promise<{ says: string; isOpened: boolean }> {
  await requireLease(tools);
  try {
    const writer = await deps.github.writer(job.task.repository, tools.signal);
    const page = await writer.propose({ ...proposal, path, text: after });
    return {
      says: `Proposed in ${page}. The rule applies once that pull request is merged.`,
      isOpened: true,
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "github_forbidden") throw error;
    return { says: patchAnswer({ path, before, after }), isOpened: false };
  }
}

function patchAnswer({ path, before, after }: ConfigChange): string {
  const { text, omittedLines } = cutAtLine(patchOf(path, before, after), MOST_PATCH_BYTES);
  return [
    `I cannot open a pull request for this rule, because this installation has not granted the permission \`Contents: Read and write\`. Here is the patch for ${untrustedCode(path)}:`,
    untrustedFence(text, "diff"),
    ...(omittedLines > 0
      ? [`The patch is too long to be shown in full: ${count(omittedLines, "more line")}.`]
      : []),
  ].join("\n\n");
}

type Demote = Extract<Act, { name: "demote" }>;

/** Proposes a change of the configuration about findings that people dismiss again and again. Resolves to what people read about it. */
export async function demote(
  context: AskedContext<ActTask>,
  { dimension, value, dismissed, findings }: Demote,
): Promise<string> {
  const { api, by, job } = context;
  const { baseRef } = await api.pull();
  const change = await configChange(
    context,
    baseRef,
    dimension === "source"
      ? {
          key: `rules.${value}`,
          isEnforced: (config) => [value, ...value.split("/")].some((name) => isRuleEnforced(config, name)),
          edit: (before) => switchOff(before, value),
        }
      : { ...ofInstructions, edit: (before) => addRule(before, severeOnly(value)) },
  );
  if ("refused" in change) return change.refused;
  const what =
    dimension === "source"
      ? `switches the rule ${untrustedCode(value)} off`
      : `asks for findings of the category ${untrustedCode(value)} only if they are severe`;
  const { says } = await proposeChange(context, change, {
    branch: `hunkwise/demote-${job.task.id}`,
    base: baseRef,
    title: publicPlain("Report less of what people dismiss"),
    body: publicText(
      `${inertMessage(untrustedCode(by))} asked for this on a page of Hunkwise. It ${inertMessage(what)}, because people dismissed ${dismissed} of ${findings} such findings in pull requests that were merged. Merge it if these were rarely worth reading; close it if they were.`,
    ),
  });
  return says;
}
