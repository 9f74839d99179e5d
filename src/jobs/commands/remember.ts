import { loadRepoConfig } from "../../config/load-config.ts";
import { AppError, publicLine } from "../../errors.ts";
import type { PullRequest } from "../../github/pull-request-api.ts";
import type { Outcome } from "../../queue/job.ts";
import { plural } from "../../reporters/outcome.ts";
import { publicPlain, publicText } from "../../publish/public-text.ts";
import { untrustedCode, untrustedFence, untrustedLine } from "../../reporters/safe-markdown.ts";
import { cutAtLine } from "../../text/cut.ts";
import { inertMessage } from "../../text/inert-message.ts";
import { addRule } from "./add-rule.ts";
import { type Asked, answered, isAnswered, pageOf, requireOurs } from "./command-context.ts";
import { patchOf } from "./patch.ts";

/** Characters. A rule is a sentence or two; who wants more writes a guideline file. */
const LONGEST = 500;
/** GitHub takes no longer comment than 65,536 characters. */
const MOST_PATCH_BYTES = 50_000;
const NEW_FILE = ".github/hunkwise.yml";

/**
 * Proposes a rule for later reviews by a pull request to the configuration, or shows the patch where we may not write. Nothing
 * holds before somebody has merged it.
 */
export async function remember(asked: Asked, text: string): Promise<Outcome> {
  const { api } = asked;
  if (await isAnswered(asked)) return { kind: "done", reason: "it was answered already" };
  const rule = text.replace(/\r\n?/g, "\n").trim();
  if (rule.length > LONGEST)
    return answered(
      asked,
      `A rule has at most ${LONGEST} characters, and this one has ${rule.length}.`,
      "it is too long",
    );
  const pull = await api.pull();
  const proposal = await proposalFor(asked, pull, rule);
  if ("refused" in proposal) return answered(asked, proposal.refused, "it cannot be added");
  return propose(asked, pull, proposal);
}

interface Proposal {
  path: string;
  before: string | null;
  after: string;
  rule: string;
}

/** The file of the branch that the pull request is to be merged into: that one's configuration holds for it. */
async function proposalFor(
  { api, deps, job, tools }: Asked,
  { baseRef }: PullRequest,
  rule: string,
): Promise<Proposal | { refused: string }> {
  const texts = new Map<string, string | undefined>();
  async function read(path: string): Promise<string | undefined> {
    const text = await api.fileAt(path, baseRef);
    texts.set(path, text);
    return text;
  }
  const organization = await deps.github.organization(job.task.repository, tools.signal);
  try {
    const { path, inherited } = await loadRepoConfig(read, organization);
    // A file of its own would take the place of the organisation's, with all that stands in it.
    if (inherited) return { refused: INHERITED };
    const file = path ?? NEW_FILE;
    const before = texts.get(file) ?? null;
    const added = addRule(before, rule);
    if (!added.ok) return { refused: `Not added: ${untrustedLine(added.reason, 600)}.` };
    return { path: file, before, after: added.text, rule };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "config_invalid") throw error;
    return { refused: `Not added: ${untrustedLine(publicLine(error), 600)}.` };
  }
}

const INHERITED =
  "Not added: the configuration of this repository is its organisation's, which a file here would take the place of. Add the rule there, below `instructions`, or begin a file here with what is to hold from it.";

async function propose(asked: Asked, { baseRef }: PullRequest, proposal: Proposal): Promise<Outcome> {
  const { deps, job, tools, comment, by } = asked;
  const { path, after, rule } = proposal;
  await requireOurs(asked);
  // The ids of the two kinds of comments may coincide.
  const asking = comment.thread === null ? `${comment.id}` : `review-${comment.id}`;
  try {
    const writer = await deps.github.writer(job.task.repository, tools.signal);
    const page = await writer.propose({
      branch: `hunkwise/remember-${asking}`,
      base: baseRef,
      ...{ path, text: after },
      title: publicPlain("Remember a rule for reviews"),
      body: publicText(
        [
          `${untrustedCode(by)} asked for this rule in [a comment](${linkOf(asked)}). Once this is merged, reviews of pull requests into ${inertMessage(untrustedCode(baseRef))} are told of it:`,
          inertMessage(untrustedFence(rule)),
        ].join("\n\n"),
      ),
    });
    return answered(asked, `Proposed in ${page}. The rule holds once that is merged.`, "proposed");
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "github_forbidden") throw error;
    return answered(asked, patchAnswer(proposal), "shown as a patch: it may not write");
  }
}

function patchAnswer({ path, before, after }: Proposal): string {
  const { text, omittedLines } = cutAtLine(patchOf(path, before, after), MOST_PATCH_BYTES);
  return [
    `I may not propose this by myself: that takes the permission \`Contents: Read and write\`, which this installation has not granted. The patch of ${untrustedCode(path)}:`,
    untrustedFence(text, "diff"),
    ...(omittedLines > 0 ? [`It is too long to be shown whole: ${plural(omittedLines, "more line")}.`] : []),
  ].join("\n\n");
}

/** Comments on lines have a page of another name. */
function linkOf(asked: Asked): string {
  const page = pageOf(asked);
  return asked.comment.thread === null ? page : page.replace("#issuecomment-", "#discussion_r");
}
