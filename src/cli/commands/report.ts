import { Command, Option } from "@commander-js/extra-typings";
import { readRunsPlace } from "../../config/server-env.ts";
import { AppError } from "../../core/errors.ts";
import { count, thousands } from "../../core/text/count.ts";
import { dollars, duration } from "../../report/outcome.ts";
import { alignedLines, plainLine, type Style, wrap } from "../../report/terminal-style.ts";
import {
  type Breakdown,
  breakdownCsv,
  breakdowns,
  definitions,
  demotionOf,
  type Insights,
  judged,
  readInsights,
  repositoryNamed,
  rowsBy,
  share,
  tokensOf,
  weeksSince,
} from "../../server/figures/insights.ts";
import { recountJob } from "../../server/queue/job.ts";
import { openReader } from "../../server/queue/reader.ts";
import { type DatabaseLocation, openStores } from "../../server/queue/stores.ts";
import { type CommandContext, type CommandIo, explained, optionText } from "../command.ts";
import { styleOf, write } from "../output.ts";

const declare = () =>
  explained(new Command("report"), {
    text: [
      "Prints the cost of this server's reviews and the outcomes of their findings, by whole weeks. The dashboard shows the same " +
        "figures. Needs the environment of the server: its DATABASE_URL or its HUNKWISE_DATA_DIR. Nothing is changed.",
      "Exit code: 0 success, 2 usage or failure.",
    ],
    examples: [
      ["the last weeks, by repository", "hunkwise report"],
      ["a quarter, week by week, for a spreadsheet", "hunkwise report --since 90d --by week --format csv"],
      ["which rules people dismiss", "hunkwise report --since 90d --by rule"],
    ],
  })
    .option("--since <DAYS>", "from the week that contains the day so many days ago, as 30d", daysText, 30)
    .addOption(
      new Option("--by <WHAT>", "what the rows are").choices(breakdowns).default("repository" as const),
    )
    .option("--repository <OWNER/NAME>", "only this repository", optionText)
    .addOption(
      new Option("--format <FORMAT>", "how to print it")
        .choices(["text", "json", "csv"])
        .default("text" as const),
    )
    .option("--definitions", "also print what each number means")
    .option(
      "--recount",
      "have the server's workers count the outcomes of findings again, from GitHub, for a database that was lost or is new. " +
        "The cost of reviews is not on GitHub",
    );

/** "30d" or "30". */
function daysText(value: string): number {
  const [, days] = /^([1-9]\d{0,3})d?$/.exec(optionText(value)) ?? [];
  if (days !== undefined) return Number(days);
  throw new AppError("usage", `--since is '${value}', which is not a number of days`, {
    remedy: "Write it as 30d.",
  });
}

export const report = (io: CommandContext) =>
  declare().action(
    async ({ since, by, format, repository, recount = false, definitions: explains = false }) => {
      const place = readRunsPlace();
      if (place === null)
        throw new AppError("usage", "there is no server in this environment", {
          remedy: "Run it where the server runs, or set HUNKWISE_DATA_DIR to the server's data folder.",
        });
      if (recount) return startRecount(place, since, io);
      const reader = await openReader(place);
      try {
        const repositories =
          repository === undefined ? null : [await repositoryNamed(reader.run, repository)];
        const insights = await readInsights(reader.run, { repositories, ...weeksSince(since, Date.now()) });
        const text = {
          json: () => `${JSON.stringify(insights, null, 2)}\n`,
          csv: () => breakdownCsv(insights, by),
          text: () => renderReport(insights, by, styleOf(io.stdout), explains),
        }[format]();
        await write(io.stdout, text);
      } finally {
        await reader.close();
      }
    },
  );

/** The workers do it, because only they may ask GitHub; the figures appear while they count. */
async function startRecount(place: DatabaseLocation, days: number, { stderr }: CommandIo): Promise<void> {
  const stores = await openStores(place);
  try {
    const since = Date.now() - days * 86_400_000;
    await stores.queue.enqueue(recountJob({ installation: null, only: null, since }));
  } finally {
    await stores.close();
  }
  await write(stderr, "The workers of the server count now. Run hunkwise report again in some minutes.\n");
}

const column = (name: string, title: string) => ({
  title,
  cell: (numbers: Numbers) => thousands(numbers[name] ?? 0),
});
type Numbers = Record<string, number>;

const runColumns = [
  column("reviews", "REVIEWS"),
  column("quiet", "QUIET"),
  {
    title: "TOKENS",
    cell: (numbers: Numbers) => thousands((numbers.prompt_tokens ?? 0) + (numbers.completion_tokens ?? 0)),
  },
  { title: "COST", cell: ({ cost_usd = 0 }: Numbers) => dollars(cost_usd) },
  column("merged", "MERGED"),
];
const outcomeColumns = [
  column("delivered", "FINDINGS"),
  column("fixed", "FIXED"),
  column("dismissed", "DISMISSED"),
  column("ignored", "IGNORED"),
  column("unclear", "UNCLEAR"),
  { title: "THUMBS", cell: ({ thumbs_up = 0, thumbs_down = 0 }: Numbers) => `+${thumbs_up} -${thumbs_down}` },
];
const modelColumns = [
  column("turns", "TURNS"),
  column("prompt_tokens", "PROMPT"),
  column("cached_tokens", "CACHED"),
  column("completion_tokens", "COMPLETION"),
  { title: "COST", cell: ({ cost_usd = 0 }: Numbers) => dollars(cost_usd) },
  column("unpriced", "UNPRICED TURNS"),
];

const columnsBy = (by: Breakdown) =>
  by === "model"
    ? modelColumns
    : by === "repository" || by === "week"
      ? [...runColumns, ...outcomeColumns]
      : outcomeColumns;

/** The insights for people at a terminal: the whole period in sentences, then a table. */
function renderReport(insights: Insights, by: Breakdown, style: Style, explains = false): string {
  const { period, weeks, totals } = insights;
  const head = style.bold(
    `Reviews from ${period.from} to ${period.to} (${count(weeks.length, "week")}, UTC)`,
  );
  const lines = summaryLines(insights).flatMap((line) => wrap(line, style.width));
  const isEmpty = totals.reviews + totals.delivered + totals.turns === 0;
  const meanings = Object.entries(definitions).flatMap(([name, means]) =>
    wrap(`- ${name}: ${means}`, style.width),
  );
  const parts = [
    [head, ...(isEmpty ? ["No review ended in this time."] : lines)],
    isEmpty ? [] : tableLines(insights, by, style),
    dismissedLines(insights).flatMap((line) => wrap(line, style.width)),
    explains ? meanings : ["To see what each number means, add --definitions."].map(style.dim),
  ];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n")}\n`;
}

function summaryLines({ totals, times }: Insights): string[] {
  const { reviews, quiet, skipped, failed, cost_usd, unpriced, merged, closed } = totals;
  const whole = judged(totals);
  const parts = (["fixed", "dismissed", "ignored", "unclear", "withdrawn"] as const).map((what) => {
    const percent = share(totals[what], whole);
    return `${thousands(totals[what])} ${what}${percent === null ? "" : ` (${percent})`}`;
  });
  const spent =
    times && `waited ${duration(times.waiting.median_ms)}, took ${duration(times.running.median_ms)}`;
  const quietShare = share(quiet, reviews);
  return [
    `${count(reviews, "review")}: ${thousands(quiet)} quiet${quietShare === null ? "" : ` (${quietShare})`}; ${spent ?? ""}${spent ? " (middle values); " : ""}${thousands(skipped)} skipped, ${thousands(failed)} failed.`,
    `Cost: ${dollars(cost_usd)} for ${count(tokensOf(totals), "token")}${unpriced > 0 ? `, without ${count(unpriced, "turn")} of unknown price` : ""}.`,
    `${count(merged, "pull request")} merged, ${thousands(closed)} closed without a merge. Their findings: ${thousands(totals.delivered)}. Of the ${thousands(whole)} in merged ones: ${parts.join(", ")}.`,
  ];
}

function dismissedLines({ often_dismissed }: Insights): string[] {
  if (often_dismissed.length === 0) return [];
  const lines = often_dismissed
    .slice(0, 10)
    .map((one) => plainLine(`- ${one.repository}: ${demotionOf(one).does}`));
  return ["Dismissed again and again:", ...lines];
}

function tableLines(insights: Insights, by: Breakdown, style: Style): string[] {
  const rows = rowsBy(insights, by);
  if (rows.length === 0) return [`There is nothing to show by ${by}.`];
  const shown = columnsBy(by);
  const cells = rows.map(({ name, numbers }) => [plainLine(name), ...shown.map(({ cell }) => cell(numbers))]);
  const titles = [by.toUpperCase(), ...shown.map(({ title }) => title)];
  const [head = "", ...lines] = alignedLines([titles, ...cells], (at) => at > 0);
  return [style.dim(head), ...lines];
}
