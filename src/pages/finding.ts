import { Hono } from "hono";
import { z } from "zod";
import type { Run } from "../queue/database.ts";
import { mostReason } from "../queue/job.ts";
import { redactText } from "../secrets/redact.ts";
import {
  type DoAct,
  doneNotice,
  incomplete,
  readOnly,
  refuse,
  Sent,
  sentOnce,
  visibleTo,
} from "./actions.ts";
import {
  aboutCell,
  FindingRow,
  findingPath,
  findingTable,
  severityTones,
  stateCell,
  thumbs,
} from "./findings.ts";
import { type Html, html } from "./html.ts";
import { layout } from "./layout.ts";
import {
  address,
  badge,
  facts,
  fullName,
  type GitHubLinks,
  linkOut,
  linksTo,
  shown,
  timeOf,
} from "./parts.ts";
import type { PageDeps } from "./reviews.ts";
import { visibleIds } from "./scope.ts";
import type { PagesEnv, Viewer, VisibleRepository } from "./viewer.ts";

/** Why people leave the code as it is. Their own words follow. */
const reasons = {
  wrong: "The finding is wrong",
  intended: "The code is meant to be like this",
  handled: "It is handled elsewhere",
  minor: "It is not worth a change",
  later: "It will be changed later",
  other: "",
} as const;
/** Characters; together with the longest reason and ": ", they are `mostReason`. */
const mostWords = 460;

const DismissForm = Sent.extend({
  why: z.enum(Object.keys(reasons) as (keyof typeof reasons)[]),
  // As one line: a database keeps no NUL, and a thread shows no other.
  words: z
    .string()
    .transform((text) => text.replace(/[\p{Cc}\s]+/gu, " ").trim())
    .pipe(z.string().max(mostWords)),
});

/** What a person says, in full; empty if they said nothing. */
const reasonOf = ({ why, words }: z.infer<typeof DismissForm>): string =>
  [reasons[why], words].filter((part) => part !== "").join(": ");

const section = "/findings";
const one = findingTable.select(
  "SELECT * FROM finding WHERE repository = :repository AND pull = :pull AND key = :key",
);
const Place = z.object({
  repository: z.coerce.number().int().positive(),
  pull: z.coerce.number().int().positive().max(999_999_999),
  // A database refuses NUL, and an id is one word.
  key: z.string().regex(/^[\w.:-]{1,300}$/),
});

/** The finding of an address, only for those to whom GitHub shows its repository. */
async function findingAt(run: Run, viewer: Viewer, parameters: Record<string, string>) {
  const place = Place.safeParse(parameters).data;
  const repository = visibleTo(viewer, place?.repository);
  if (!place || !repository) return undefined;
  const row = FindingRow.optional().parse(
    (await run(one, { ...place, visible: visibleIds(viewer) })).rows[0],
  );
  return row && { row, repository };
}

/** The page of one finding, `/findings/<repository>/<pull request>/<key>`, and the form on it that dismisses the finding. */
export function finding({ run, webUrl }: Pick<PageDeps, "run" | "webUrl">, doAct: DoAct): Hono<PagesEnv> {
  const links = linksTo(webUrl);
  const path = "/findings/:repository/:pull/:key";
  return new Hono<PagesEnv>()
    .get(path, async (context) => {
      const { viewer } = context.var;
      const found = await findingAt(run, viewer, context.req.param());
      if (!found) return context.notFound();
      const { row, repository } = found;
      const title = row.title ?? `A finding of ${fullName(repository)}#${row.pull}`;
      const form = repository.mayWrite && isOpen(row) && dismissPart(row);
      const body = html`${doneNotice(context)}${told(row, repository, links)}${form}`;
      return context.html(layout({ title: shown(title), viewer, section, body }));
    })
    .post(path, async (context) => {
      const found = await findingAt(run, context.var.viewer, context.req.param());
      if (!found) return context.notFound();
      const { row, repository } = found;
      if (!repository.mayWrite) return refuse(context, 403, section, readOnly);
      const sent = DismissForm.safeParse(await context.req.parseBody());
      if (!sent.success) return refuse(context, 400, section, incomplete);
      const reason = (await redactText(reasonOf(sent.data))).slice(0, mostReason).toWellFormed();
      if (reason === "")
        return refuse(context, 400, section, "A dismissal needs a reason. Choose one, or write one.");
      if (!isOpen(row)) return refuse(context, 409, section, `The finding is ${row.state} by now.`);
      if (row.place !== "comment") return refuse(context, 409, section, noThread);
      const act = { name: "dismiss" as const, comment: Number(row.key), reason };
      const { pull } = row;
      return doAct(context, { act, form: sent.data.form, repository, pull, back: findingPath(row), section });
    });
}

function told(row: FindingRow, repository: VisibleRepository, links: GitHubLinks): Html {
  const { path, line, key } = row;
  const pull = links.pull(repository, row.pull);
  const url = links.own(row.url) ?? (row.place === "comment" ? `${pull}#discussion_r${key}` : null);
  const where = path && html`<span class="mono">${shown(line === null ? path : `${path}:${line}`)}</span>`;
  const runs = address("/reviews", { repository: fullName(repository), q: `#${row.pull}` });
  return html`${facts([
    ["State", stateCell(row)],
    ["Severity", badge(row.severity, severityTones[row.severity] ?? "calm")],
    ["About", aboutCell(row)],
    ["Place", where],
    ["Pull request", linkOut(pull, shown(`${fullName(repository)}#${row.pull}`))],
    ["Delivered", timeOf(row.delivered_at)],
    ["Thumbs", thumbs(row)],
  ])}
${row.title === null && html`<p class="notice">Its words are no longer on record.</p>`}
<p>${url !== null && html`${linkOut(url, "The finding on GitHub")} · `}<a href="${runs}">What was run on its pull request</a></p>
`;
}

const isOpen = ({ state }: FindingRow): boolean => state === "open" || state === "outdated";

const noThread =
  "It has no thread on GitHub, so it cannot be dismissed this way. It goes when a review no longer finds it.";

function dismissPart(row: FindingRow): Html {
  if (row.place !== "comment") return html`<p class="note">${noThread}</p>`;
  return html`<h2>Dismiss it</h2>
<form class="filters" method="post" action="${findingPath(row)}">${sentOnce()}
<label>Why
<select name="why" required><option value="">choose</option>${Object.entries(reasons).map(([value, text]) => html`<option value="${value}">${text || "Another reason"}</option>`)}</select></label>
<label>In your words
<textarea name="words" rows="2" cols="50" maxlength="${mostWords}"></textarea></label>
<button>Dismiss</button>
</form>
<p class="note">Hunkwise answers in the thread of the finding with your name and your reason, does not report the finding again, and no longer
counts it against the change.</p>`;
}
