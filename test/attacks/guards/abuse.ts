import type { Guard } from "../guard.ts";

const abuse = "test/attacks/abuse.test.ts";
const words = "test/attacks/command-arguments.test.ts";
const stores = "test/queue/sqlite.test.ts";

const limits: Guard[] = [
  {
    guard: "whoever has asked too much is asked about no more",
    row: "cost-drain",
    file: "src/jobs/create-job-handler.ts",
    from: "if (!(await deps.usage.mayAsk(job)))",
    to: "if (!(await deps.usage.mayAsk(job)) && job.id === '')",
    test: abuse,
    title:
      "cost-drain: one person's commands end in silence, for which nothing is asked of GitHub or a model",
  },
  {
    guard: "replies count for who writes them",
    row: "cost-drain",
    file: "src/jobs/usage-limits.ts",
    from: "return { repository: task.repository, login: task.author };",
    to: "return null;",
    test: "test/jobs/usage-limits.test.ts",
    title: "what is asked of a reply counts for whoever asks, by the hour",
  },
  {
    guard: "a person is one in whatever case their login is written",
    row: "cost-drain",
    file: "src/jobs/usage-limits.ts",
    from: "login.toLowerCase()",
    to: "login",
    test: "test/jobs/usage-limits.test.ts",
    title: "what is asked of help counts for whoever asks, by the hour",
  },
  {
    guard: "a review is begun only within the limits of a day",
    row: "cost-drain",
    file: "src/jobs/review-and-publish.ts",
    from: "await deps.usage.requireReview({ id: job.id, repository, pull: number, head, author: pull.author });",
    to: "",
    test: abuse,
    title: "cost-drain: a hundred pushes a minute are a review a minute, and none beyond those of a day",
  },
  {
    guard: "a pull request has so many reviews a day",
    row: "cost-drain",
    file: "src/jobs/usage-limits.ts",
    from: "enter(entry, [ofPull, ofAuthor, ofAll])",
    to: "enter(entry, [ofAuthor, ofAll])",
    test: abuse,
    title:
      "cost-drain: reviews that many people ask for again and again are no more than a pull request may have",
  },
  {
    guard: "an installation has so many reviews a day",
    row: "cost-drain",
    file: "src/jobs/usage-limits.ts",
    from: "enter(entry, [ofPull, ofAuthor, ofAll])",
    to: "enter(entry, [ofPull, ofAuthor])",
    test: abuse,
    title:
      "cost-drain: a hundred pull requests are no more reviews than an installation may have, and no other's",
  },
  {
    guard: "whoever opens pull requests has so many reviews a day",
    row: "cost-drain",
    file: "src/jobs/usage-limits.ts",
    from: "enter(entry, [ofPull, ofAuthor, ofAll])",
    to: "enter(entry, [ofPull, ofAll])",
    test: abuse,
    title:
      "cost-drain: one author's pull requests are no more reviews than one may have, and leave those of others alone",
  },
  {
    guard: "a job that comes back with another head counts again",
    row: "cost-drain",
    file: "src/jobs/usage-limits.ts",
    from: `name: \`\${id} \${head}\``,
    to: "name: id",
    test: "test/jobs/usage-limits.test.ts",
    title:
      "counts for its pull request, its author and its installation, since midnight, and once for each head",
  },
  {
    guard: "pushes in a row are one review",
    row: "cost-drain",
    file: "src/webhooks/decide.ts",
    from: "{ quietMs: options.pushWindowMs }",
    to: "{ quietMs: 0 }",
    test: abuse,
    title: "cost-drain: a hundred pushes a minute are a review a minute, and none beyond those of a day",
  },
  {
    guard: "only who can write has a review made",
    row: "cost-drain",
    file: "src/jobs/review-pull.ts",
    from: "if (!(await hasWriteAccess(api, task.requestedBy)))",
    to: "if (!(await hasWriteAccess(api, task.requestedBy)) && task.requestedBy === '')",
    test: abuse,
    title: "cost-drain: many strangers cost one question each, and no review or word",
  },
  {
    guard: "bots and Apps start nothing by what they write",
    row: "loops",
    file: "src/webhooks/decide-on-comment.ts",
    from: 'if (!event.byPerson) return ignore("a comment that no person wrote themselves");',
    to: "",
    test: abuse,
    title: "cost-drain: nothing that a bot, an App or this App itself writes is an answer's beginning",
  },
];

const tally: Guard[] = [
  {
    guard: "a full tally takes no more",
    row: "cost-drain",
    file: "src/queue/sql-tally.ts",
    from: "if (CountRow.parse(row).entries >= most) return limit;",
    to: "CountRow.parse(row);",
    test: stores,
    title: "takes so many entries, through any connection, and tells which limit is reached",
  },
  {
    guard: "what is done again counts once",
    row: "cost-drain",
    file: "src/queue/sql-tally.ts",
    from: "if (rows.length > 0) continue;",
    to: "if (rows.length > 1) continue;",
    test: stores,
    title: "counts what is entered again once, and lets it pass although the limit is reached",
  },
  {
    guard: "nobody counts while another one enters",
    row: "cost-drain",
    file: "src/queue/sql-tally.ts",
    from: "database.transaction(async (run) => {",
    to: "((work: any) => work(database.run))(async (run: any) => {",
    test: stores,
    title: "lets no more through when many ask at once",
  },
];

const commands: Guard[] = [
  {
    guard: "a review has the options of a list, or is none",
    row: "strangers-commands",
    file: "src/webhooks/commands.ts",
    from: "return understood ? {",
    to: "return understood || true ? {",
    test: words,
    title: "come to a switch that is on or off, or to a text, whatever they are",
  },
  {
    guard: "a command without arguments takes none",
    row: "strangers-commands",
    file: "src/webhooks/commands.ts",
    from: "return wordsOf(behind)?.length === 0 ? { name } : null;",
    to: "return { name };",
    test: words,
    title: 'the words behind a command are none of it where they are no option: "--approve"',
  },
  {
    guard: "a stored command has no place for anything more",
    row: "strangers-commands",
    file: "src/queue/job.ts",
    from: 'z.strictObject({ name: z.literal("help") })',
    to: 'z.object({ name: z.literal("help") })',
    test: words,
    title: "have no place in a stored job beside those of the list",
  },
];

export const guards: readonly Guard[] = [...limits, ...tally, ...commands];
