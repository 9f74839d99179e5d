import type { Guard } from "../guard.ts";

const line = "src/reporters/render-untrusted-line.ts";
const block = "src/reporters/render-untrusted.ts";
const output = "test/attacks/output.test.ts";
const hostileWords = "test/jobs/commands/hostile-words.test.ts";

type OfRow = Omit<Guard, "row" | "test"> & Partial<Pick<Guard, "test">>;

const markup = (guard: OfRow): Guard => ({
  row: "exfiltration-by-markup",
  test: output,
  ...guard,
});
const references = (guard: OfRow): Guard => ({
  row: "live-references",
  test: output,
  ...guard,
});

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: source text
export const guards: Guard[] = [
  markup({
    guard: "brackets and angle brackets begin nothing",
    file: line,
    from: 'if (sign === "<" || sign === "[") return `\\\\${sign}`;',
    to: "",
    title: "exfiltration-by-markup: an image is shown as text or code",
  }),
  markup({
    guard: "HTML begins nowhere",
    file: line,
    from: 'if (sign === "<" || sign === "[")',
    to: 'if (sign === "[")',
    title: "exfiltration-by-markup: an image in HTML is shown as text or code",
  }),
  markup({
    guard: "addresses stand as code",
    file: line,
    from: "matchAt(url, scan) || matchAt(uuid, scan) || commitIn(word)",
    to: "commitIn(word)",
    test: "test/reporters/render-untrusted.test.ts",
    title: "text of a model loses a bare address",
  }),
  markup({
    guard: "what stands before an address without a name is broken",
    file: line,
    from: 'sign === "/" && tail.endsWith(":/") ? breaker : "";',
    to: 'sign === "/" && tail.endsWith(":/") ? "" : "";',
    test: "test/reporters/render-untrusted.test.ts",
    title: "text of a model loses the beginning of an address",
  }),
  markup({
    guard: "entities stay what was written",
    file: line,
    from: 'if (sign === "&") return /[#a-z]/i.test(after) ? "\\\\&" : sign;',
    to: "",
    title: "live-references: a person in entities is not alive",
  }),
  markup({
    guard: "no line makes a table of its neighbours",
    file: line,
    from: 'return breakTableRule(out.join(""));',
    to: 'return breakTableRule(out.join("")) && out.join("");',
    title: "exfiltration-by-markup: a table is shown as text or code",
  }),
  markup({
    guard: "a dollar begins no formula",
    file: line,
    from: 'if (sign === "$") return asCode(scan, matchAt(dollars, scan));',
    to: "void dollars;",
    title: "exfiltration-by-markup: a formula is shown as text or code",
  }),
  markup({
    guard: "code blocks carry known languages alone",
    file: block,
    from: 'shownLanguages.has(language.toLowerCase()) ? language : ""',
    to: "shownLanguages.has(language.toLowerCase()) ? language : language",
    title: "exfiltration-by-markup: a diagram is shown as text or code",
  }),
  markup({
    guard: "what does not show is spelled out",
    file: block,
    from: 'return showHidden(text.toWellFormed().replace(/\\r\\n?/g, "\\n"));',
    to: 'return showHidden("") + text.toWellFormed().replace(/\\r\\n?/g, "\\n");',
    title: "exfiltration-by-markup: text in another direction is shown as text or code",
  }),
  markup({
    guard: "fences are longer than any inside",
    file: "src/text/fence.ts",
    from: 'const marks = "`".repeat(Math.max(3, longestRun(text, "`") + 1));',
    to: 'const marks = "`".repeat(Math.max(3, longestRun(text, "`") * 0));',
    title: "exfiltration-by-markup: a fence within a fence is shown as text or code",
  }),
  markup({
    guard: "annotations spell out what does not show",
    file: "src/reporters/render-annotation.ts",
    from: 'escapeInvisible(text.toWellFormed().replace(/\\r\\n?/g, "\\n"))',
    to: 'escapeInvisible("") + text.toWellFormed().replace(/\\r\\n?/g, "\\n")',
    title:
      "exfiltration-by-markup: annotations and titles, which are plain text, hide nothing and lead nowhere",
  }),
  markup({
    guard: "SARIF's Markdown is the renderer's",
    file: "src/reporters/sarif.ts",
    from: "untrustedBlock(`${note}${finding.body}`, MOST_BYTES)",
    to: "untrustedBlock(note, MOST_BYTES)}${finding.body",
    test: "test/reporters/sarif.test.ts",
    title: "hands on nothing of a model's Markdown that does anything where it is shown",
  }),
  markup({
    guard: "so is what SARIF says of a rule",
    file: "src/reporters/sarif.ts",
    from: "[withoutLinks(help), untrustedBlock(help, MOST_BYTES)]",
    to: "[withoutLinks(help), help]",
    test: "test/reporters/sarif.test.ts",
    title: "names and explains each rule, without anything alive in it",
  }),
  references({
    guard: "no name behind @ is one",
    file: line,
    from: 'if (sign === "@" && !/^[ \\t\\u200b]?$/.test(after)) return sign + breaker;',
    to: "",
    title: "live-references: a person is not alive",
  }),
  references({
    guard: "no number behind # is one",
    file: line,
    from: 'if (sign === "#" && /\\d/.test(after)) return sign + breaker;',
    to: "",
    title: "live-references: an issue that is closed is not alive",
  }),
  references({
    guard: "no number behind GH- is one",
    file: line,
    from: 'if (sign === "-" && /gh$/i.test(tail) && /\\d/.test(after)) return sign + breaker;',
    to: "",
    title: "live-references: an issue by its prefix is not alive",
  }),
  references({
    guard: "names of commits stand as code",
    file: line,
    from: "matchAt(url, scan) || matchAt(uuid, scan) || commitIn(word)",
    to: "matchAt(url, scan)",
    title: "live-references: a commit is not alive",
  }),
  references({
    guard: "no line begins with a command",
    file: line,
    from: '/[/.!]/.test(sign) && bare && /[a-z]/i.test(after) ? breaker : "";',
    to: '/[/.!]/.test(sign) && bare ? "" : "";',
    title: "live-references: a command in a quote or list is not alive",
  }),
  references({
    guard: "no line of code is a command",
    file: "src/text/other-bots.ts",
    from: ".replace(command, `$1${breaker}`)",
    to: '.replace(command, "$1")',
    title: "live-references: a command in code is not alive",
  }),
  references({
    guard: "code speaks to no bot",
    file: "src/text/other-bots.ts",
    from: ".replace(spokenTo, `@${breaker}`)",
    to: '.replace(spokenTo, "@")',
    title: "live-references: a word to a bot in code is not alive",
  }),
  references({
    guard: "needless backslashes go, so that they hide nothing",
    file: line,
    from: 'return { written: isNeedlessEscape(after) ? "" : "\\\\", consumed: 1 };',
    to: 'return { written: isNeedlessEscape(after) ? "\\\\" : "\\\\", consumed: 1 };',
    title: "live-references: an escaped issue is not alive",
  }),
  references({
    guard: "titles of findings are rendered",
    file: "src/reporters/render-comment.ts",
    from: "${untrustedLine(finding.title)}**`;",
    to: "${finding.title}**`;",
    title: "exfiltration-by-markup: comments on lines hold no image",
  }),
  references({
    guard: "bodies of findings are rendered",
    file: "src/reporters/render-comment.ts",
    from: "untrustedBlock(finding.body, maxBytes - bytesOf([...before, ...after]))",
    to: "finding.body.slice(0, maxBytes - bytesOf([...before, ...after]))",
    title: "exfiltration-by-markup: comments on lines hold no image",
  }),
  references({
    guard: "the summary is rendered",
    file: "src/reporters/render-summary.ts",
    from: "untrustedBlock(summaryOf(result), room.summary * share)",
    to: "summaryOf(result)",
    title: "live-references: the summary is inert as well",
  }),
  references({
    guard: "answers of the model are rendered",
    file: "src/reporters/render-answer.ts",
    from: "untrustedBlock(text, maxBytes - byteLength(footer) - 2)",
    to: "untrustedBlock(text, maxBytes - byteLength(footer) - 2) && text",
    title: "live-references: an answer with a team is inert",
  }),
  references({
    guard: "markers hold no word to a bot",
    file: "src/ledger/marker-data.ts",
    from: "/[<>@-]/g",
    to: "/[<>-]/g",
    title: "live-references: the summary is inert as well",
  }),
  references({
    guard: "the reason why a job was given up is rendered",
    file: "src/jobs/commands/tell-failure.ts",
    from: "untrustedLine(reason, 600)",
    to: "untrustedLine(reason, 600) && reason",
    test: hostileWords,
    title: "as the reason why a job was given up",
  }),
  references({
    guard: "why a rule was not added is rendered",
    file: "src/jobs/commands/remember.ts",
    from: "untrustedLine(publicLine(error), 600)",
    to: "publicLine(error)",
    test: hostileWords,
    title: "as the name of a folder whose configuration cannot be read",
  }),
  references({
    guard: "a proposal makes no commit message that does something",
    file: "src/jobs/commands/remember.ts",
    from: "inertMessage(untrustedFence(rule))",
    to: "untrustedFence(rule)",
    test: hostileWords,
    title: "is shown in the proposal where it does nothing",
  }),
  references({
    guard: "a patch is shown as code that does nothing",
    file: "src/jobs/commands/remember.ts",
    from: 'untrustedFence(text, "diff")',
    to: 'text.replace(untrustedFence(""), "")',
    test: hostileWords,
    title: "is shown in a patch where it does nothing",
  }),
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: source text
