import type { Guard } from "../guard.ts";

const resolvePath = "src/tools/resolve-path.ts";
const reading = "test/attacks/reading.test.ts";
const hiddenText = "test/attacks/hidden-text.test.ts";
const toReviewer = "to the reviewer hidden-html: ";
const toAnswerer = "to whoever answers a question hidden-html: ";
const toChecker = "to whoever checks an earlier comment hidden-html: ";
const saysWhy = "path-tricks: says why a path is refused, and does not just miss the file";
const noOption = "argv-injection: has no text taken for an option of git or ripgrep";

/** One fence of a message: what is in it, and the test that looks into it. */
const fence = (guard: string, file: string, from: string, to: string, title: string): Guard => ({
  guard,
  row: "hidden-html",
  ...{ file, from, to },
  test: hiddenText,
  title,
});

const pullRequest = "src/review/context/pull-request.ts";
const question = "src/review/answer/question-messages.ts";
const shown = "is shown as text";

const orders = (guard: string, file: string, from: string, to: string): Guard => ({
  ...{ guard, row: "injected-actions", file, from, to },
  test: "test/attacks/same-review.test.ts",
  title: "everywhere at once gets the same tools, instructions, targets and event as one without",
});

export const guards: readonly Guard[] = [
  orders(
    "No word of a title that has a review left out unless the configuration says so",
    "src/jobs/skip-reason.ts",
    "review.ignore_titles.find(",
    '[...review.ignore_titles, "[skip review]"].find(',
  ),
  orders(
    "No title among the instructions",
    "src/review/context/first-messages.ts",
    'role: "system", content: systemPrompt }',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    'role: "system", content: `${systemPrompt}\n${input.pull.title}` }',
  ),
  orders(
    "No commit message outside of its fence",
    pullRequest,
    'wrapUntrusted("commit messages", cut(text, MAX_COMMITS_BYTES))',
    "cut(text, MAX_COMMITS_BYTES)",
  ),
  {
    guard: "Absolute paths outside of the checkout",
    row: "path-tricks",
    file: resolvePath,
    from: "if (absolute && root === undefined)",
    to: "if ((false as boolean) && root === undefined)",
    test: reading,
    title: saysWhy,
  },
  {
    guard: "NUL in a path",
    row: "path-tricks",
    file: resolvePath,
    from: 'if (given.includes("\\0"))',
    to: "if (false as boolean)",
    test: reading,
    title: saysWhy,
  },
  {
    guard: "Ways up in a path of a tool",
    row: "path-tricks",
    file: resolvePath,
    from: 'if (fault === "upwards") {',
    to: "if (false as boolean) {",
    test: reading,
    title: saysWhy,
  },
  {
    guard: "The folder of git in a path of a tool",
    row: "path-tricks",
    file: resolvePath,
    from: 'if (fault === "git") {',
    to: "if (false as boolean) {",
    test: reading,
    title: saysWhy,
  },
  {
    guard: "Entries of the tree that are no plain files",
    row: "symlinks",
    file: resolvePath,
    from: 'if (entry?.mode.startsWith("100")) return entry;',
    to: "if (entry) return entry;",
    test: reading,
    title: "symlinks: follows no link, neither to a file nor to a folder, the root or another link",
  },
  {
    guard: "A pattern that reads as an option of ripgrep",
    row: "argv-injection",
    file: "src/git/ripgrep-arguments.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    from: "`--regexp=${query.pattern}`",
    to: "query.pattern",
    test: reading,
    title: noOption,
  },
  {
    guard: "A type of files that reads as an option of ripgrep",
    row: "argv-injection",
    file: "src/git/ripgrep-arguments.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    from: "`--type=${query.fileType}`",
    to: "query.fileType",
    test: reading,
    title: noOption,
  },
  {
    guard: "A glob that reads as an option of ripgrep",
    row: "argv-injection",
    file: "src/git/ripgrep-arguments.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    from: "`--glob=${query.filePattern}`",
    to: "query.filePattern",
    test: reading,
    title: noOption,
  },
  {
    guard: "Arguments that are not what a tool takes",
    row: "tool-abuse",
    file: "src/tools/parse-arguments.ts",
    from: "const parsed = tool.input.safeParse(present);",
    to: "if (true as boolean) return present;\n  const parsed = tool.input.safeParse(present);",
    test: reading,
    title: "tool-abuse: answers arguments of the wrong type, shape or size in words, and never crashes",
  },
  fence(
    "A mark of each fence that its text cannot hold",
    "src/text/fence.ts",
    "const mark = unusedMark(shown);",
    'const mark = unusedMark("");',
    `${toReviewer}closes no fence`,
  ),
  {
    guard: "A longer mark where a text holds the beginning of its own",
    row: "hidden-html",
    file: "src/text/fence.ts",
    from: "while (length < digest.length && text.includes(digest.slice(0, length))) length += 4;",
    to: "while (length < 12) length += 4;",
    test: "test/text/fence.test.ts",
    title: "stands nowhere in the text, also where its author has guessed how it begins",
  },
  fence(
    "Characters in it that nobody sees",
    "src/text/fence.ts",
    "const shown = escapeInvisible(text);",
    "const shown = text;",
    `${toReviewer}${shown}`,
  ),
  fence(
    "Title and description for the reviewer",
    pullRequest,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    '${wrapUntrusted("title and description", `${unixLines(pull.title)}\\n\\n${cut(pull.body, MAX_BODY_BYTES)}`)}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    "${unixLines(pull.title)}\\n\\n${cut(pull.body, MAX_BODY_BYTES)}",
    `${toReviewer}${shown}`,
  ),
  fence(
    "Issues that the description names",
    pullRequest,
    'wrapUntrusted("linked issues", cut(texts.join("\\n\\n"), MAX_ISSUES_BYTES))',
    'cut(texts.join("\\n\\n"), MAX_ISSUES_BYTES)',
    `${toReviewer}${shown}`,
  ),
  fence(
    "Failed checks",
    pullRequest,
    'wrapUntrusted("failed checks", cut(texts.join("\\n\\n"), MAX_CHECKS_BYTES))',
    'cut(texts.join("\\n\\n"), MAX_CHECKS_BYTES)',
    `${toReviewer}${shown}`,
  ),
  fence(
    "Annotations of checks",
    pullRequest,
    'wrapUntrusted("check annotations", [...shown, ...rest].join("\\n"))',
    '[...shown, ...rest].join("\\n")',
    `${toReviewer}${shown}`,
  ),
  fence(
    "Messages of commits",
    pullRequest,
    'wrapUntrusted("commit messages", cut(text, MAX_COMMITS_BYTES))',
    "cut(text, MAX_COMMITS_BYTES)",
    `${toReviewer}${shown}`,
  ),
  fence(
    "Earlier findings and the replies to them",
    pullRequest,
    'wrapUntrusted("earlier findings", cut(texts.join("\\n"), MAX_EARLIER_BYTES))',
    'cut(texts.join("\\n"), MAX_EARLIER_BYTES)',
    `${toReviewer}${shown}`,
  ),
  fence(
    "Guidelines of the repository",
    "src/review/context/guidelines.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    "wrapUntrusted(`guidelines in ${showPath(entry.path)}`, cut.text + more)",
    "showPath(entry.path) + cut.text + more",
    `${toReviewer}${shown}`,
  ),
  fence(
    "The diff for the reviewer",
    "src/review/context/diff-section.ts",
    'wrapUntrusted("diff", texts.join("\\n"))',
    'wrapUntrusted("diff", "") + texts.join("\\n")',
    `${toReviewer}${shown}`,
  ),
  fence(
    "A question",
    question,
    'wrapUntrusted("question", said(run, question, most.question))',
    "said(run, question, most.question)",
    `${toAnswerer}${shown}`,
  ),
  fence(
    "A conversation in a thread",
    question,
    'wrapUntrusted("conversation", latest(run, conversation))',
    "latest(run, conversation)",
    `${toAnswerer}${shown}`,
  ),
  fence(
    "What an earlier comment says, which quotes the change",
    "src/review/recheck/claim.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    'wrapUntrusted("comment", `${showPath(path)}${at}${inside}\\n${said}${rests}`)',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    "`${showPath(path)}${at}${inside}\\n${said}${rests}`",
    `${toChecker}${shown}`,
  ),
];
