import { AppError } from "../../core/errors.ts";

/** A pull request and the GitHub that has it. */
interface PullPlace {
  /** With a port if it is not the usual one. */
  host: string;
  /** `http` only for this machine, which nobody else can listen to. */
  protocol: "https" | "http";
  owner: string;
  name: string;
  number: number;
}

const repository = "(?<owner>[\\w.-]{1,100})/(?<name>[\\w.-]{1,100}?)";
const host = "(?<host>[\\w.-]+(?::\\d+)?)";
const page = new RegExp(
  `^(?<protocol>https|http(?=://(?:127\\.0\\.0\\.1|localhost):))://${host}/${repository}/pull/(?<number>[1-9]\\d{0,8})(?:[/?#].*)?$`,
);
/** `https://HOST/OWNER/NAME.git`, `ssh://git@HOST/OWNER/NAME`, `git@HOST:OWNER/NAME.git`. The port of SSH is not that of the API. */
const remotes = [
  new RegExp(`^https://(?:[^@/]*@)?${host}/${repository}(?:\\.git)?/?$`),
  new RegExp(`^ssh://(?:[^@/]*@)?(?<host>[\\w.-]+)(?::\\d+)?/${repository}(?:\\.git)?/?$`),
  new RegExp(`^[\\w.-]+@(?<host>[\\w.-]+):${repository}(?:\\.git)?/?$`),
];

/** The pull request that a person names: the address of its page, or a number in the repository of the remote "origin". Throws `usage`. */
export function pullPlace(named: string, remote: string | null): PullPlace {
  const ofRemote = /^#?[1-9]\d{0,8}$/.test(named);
  const patterns = ofRemote ? remotes : [page];
  const place = patterns.map((pattern) => pattern.exec(ofRemote ? (remote ?? "") : named)).find(Boolean);
  if (!place) {
    const address = "the address of its page: https://HOST/OWNER/REPOSITORY/pull/NUMBER";
    if (ofRemote)
      throw new AppError("usage", `The remote origin does not say where pull request ${named} is`, {
        remedy: `Name ${address}`,
      });
    throw new AppError("usage", `'${named}' is not a pull request`, {
      remedy: `Name its number, or ${address}`,
    });
  }
  const { protocol, host = "", owner = "", name = "", number = named.replace("#", "") } = place.groups ?? {};
  return {
    host: host.toLowerCase(),
    protocol: protocol === "http" ? "http" : "https",
    owner,
    name,
    number: Number(number),
  };
}

/** The repository to find issues of. */
export interface ReferenceBase {
  owner: string;
  name: string;
  /** Root of GitHub's pages, without a slash at the end. */
  webUrl: string;
}

/**
 * Parts in which GitHub reads no references: fenced blocks, HTML comments, code spans. The part that begins first contains the others; an
 * unclosed one continues to the end. The lookbehind is for the fence of a group that did not participate.
 */
const hidden =
  /^ {0,3}(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)$(?:\n(?! {0,3}(?:\1|\2)(?<=[`~]))[^\n]*)*(?:\n[^\n]*)?|<!--[\s\S]*?(?:-->|(?![\s\S]))|(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n)[\s\S])*?(?<!`)\3(?!`)/gm;

/**
 * Numbers of the repository's issues and pull requests that a text names, those after a word that closes issues first.
 * https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
 */
export function issueReferences(text: string, { owner, name, webUrl }: ReferenceBase): number[] {
  const page = escaped(`${webUrl}/${owner}/${name}`);
  const reference = new RegExp(
    String.raw`(?<![\w./#&-])(?<closing>(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]+)?` +
      String.raw`(?:${page}/(?:issues|pull)/(?<linked>\d{1,9})|(?<repository>[\w.-]{1,100}/[\w.-]{1,100})?#(?<named>\d{1,9})|GH-(?<short>\d{1,9}))\b`,
    "gi",
  );
  const here = `${owner}/${name}`.toLowerCase();
  const found = [...readable(text).matchAll(reference)].flatMap(({ groups = {} }) => {
    const { closing, linked, repository, named, short } = groups;
    if (repository !== undefined && repository.toLowerCase() !== here) return [];
    return [{ closes: closing !== undefined, number: Number(linked ?? named ?? short) }];
  });
  const closing = found.filter(({ closes }) => closes);
  return [...new Set([...closing, ...found].map(({ number }) => number))].filter((number) => number > 0);
}

/** The text without hidden parts, and without quotes, which continue to the next empty line. */
function readable(text: string): string {
  let isQuote = false;
  const lines = text.replaceAll("\r\n", "\n").replace(hidden, " ").split("\n");
  return lines
    .filter((line) => {
      if (line.trim() === "") isQuote = false;
      isQuote ||= /^ {0,3}>/.test(line);
      return !isQuote;
    })
    .join("\n");
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
