import { at, here, type Listed } from "./row.ts";

/** What blocks a release. */
export const blocking: readonly Listed[] = [
  {
    name: "forged-signature",
    attack:
      "A webhook without a signature, with one of SHA-1, of the wrong length, in other letters, or made for another body",
    expected: "It is refused with 401 or 400 before anything parses it, and starts nothing",
    provenBy: [here("webhooks")],
  },
  {
    name: "secret-unset",
    attack: "No webhook secret, an empty one, or the one that Probot falls back to",
    expected: "The server does not start, and says in one line what to set",
    provenBy: [here("webhooks")],
  },
  {
    name: "replayed-delivery",
    attack: "One delivery many times: at the same moment, and again after a restart",
    expected: "One job",
    provenBy: [
      here("webhooks"),
      at(
        "e2e/review",
        "leads to one review, however often it is delivered, with comments on the right lines, a summary and a check run",
      ),
    ],
  },
  {
    name: "one-review-a-head",
    attack: "Several events about one head within a moment, each with a delivery of its own",
    expected: "One review of that head",
    provenBy: [here("deliveries")],
  },
  {
    name: "slow-handler",
    attack: "A model that takes minutes",
    expected: "Every webhook is answered while it thinks",
    provenBy: [here("deliveries")],
  },
  {
    name: "killed-anywhere",
    attack:
      "The process is killed at any step; two workers have one job; a worker comes back after its lease is over",
    expected: "The job goes on, one review stands, and the late worker writes nothing",
    provenBy: [
      at("e2e/kill", "leaves one review, each comment once, no turn paid twice, and nothing behind"),
      at(
        "jobs/fenced",
        "leave one review, each comment once, one summary and no open check run, whichever call it is frozen at",
      ),
      at("e2e/frozen-worker", "right before GitHub gets its review takes it away again"),
    ],
  },
  {
    name: "answer-lost",
    attack: "GitHub has stored a review, and its answer is lost",
    expected: "It is found again, and nothing stands twice",
    provenBy: [
      at("e2e/conformance-github-faults", "l': that was stored all the same is recognised on every channel"),
      at("e2e/fault-at-k", "ends as one in which none does, whichever call it is"),
    ],
  },
  {
    name: "environment-by-tools",
    attack: "The model reads the environment, the process table and home folders with its tools",
    expected: "Refused, and nothing of it is said anywhere",
    provenBy: [here("obedient-model"), here("reading")],
  },
  {
    name: "symlinks",
    attack:
      "Links in the tree to files and folders outside, chains of them, and files that are swapped for one while they are read",
    expected: "Refused",
    provenBy: [here("obedient-model"), here("reading"), here("files")],
  },
  {
    name: "path-tricks",
    attack:
      "Paths with .., from the root, percent-encoded, with NUL or backslashes, into .git in every spelling",
    expected: "Refused",
    provenBy: [here("obedient-model"), here("reading")],
  },
  {
    name: "argv-injection",
    attack: "Patterns, paths and refs that read as options of git or ripgrep",
    expected: "They are data: no program is started and no file written",
    provenBy: [here("obedient-model"), here("reading"), here("git")],
  },
  {
    name: "foreign-protocols",
    attack: "ext::, file://, fd:: and ssh options as addresses of submodules, large files and clones",
    expected: "Nothing is fetched from there",
    provenBy: [here("git"), here("git-layers")],
  },
  {
    name: "code-in-git",
    attack:
      "Hooks, a bare repository with fsmonitor in the tree, filters, diff and merge drivers by attributes, a hostile global configuration",
    expected: "Nothing runs",
    provenBy: [here("git"), here("git-layers")],
  },
  {
    name: "submodules",
    attack: "Submodules laid out as in CVE-2024-32002 and CVE-2025-48384",
    expected: "Never initialised; a change of one is shown as text",
    provenBy: [here("git")],
  },
  {
    name: "repository-tools",
    attack:
      "Configurations of linters, package managers, editors and agents, scripts and makefiles in the pull request",
    expected: "None of them is run or heeded",
    provenBy: [here("git")],
  },
  {
    name: "token-at-rest",
    attack: "Looking for the token of GitHub in files, remotes, the process table, errors and logs",
    expected: "It stands nowhere",
    provenBy: [here("token")],
  },
  {
    name: "secret-in-output",
    attack: "The model writes a secret: as it is, encoded, split or reversed, and new forms of tokens",
    expected: "It is taken out, and a text that still holds one is not sent",
    provenBy: [here("secrets")],
  },
  {
    name: "secret-to-provider",
    attack:
      "A committed secret on its way to the model: in a diff, a search, a tool's answer, a message, a name, a page of a key",
    expected:
      "A mask stands in its place in every request, and lines of the change that hold one are counted",
    provenBy: [
      at("process/masked-requests", "holds no secret of any kind, at effort %s"),
      at(
        "process/masked-requests",
        "stands on the line that git has, without its suggestion and with nothing of the secret",
      ),
      at("process/masked-requests", "is beside a count of what was hidden and no finding tells of"),
      at(
        "secrets/masks",
        "take no number that stands in the code like a mask, so that code cannot pass for a value",
      ),
    ],
  },
  {
    name: "exfiltration-by-markup",
    attack: "Images, raw HTML and links in what the model writes",
    expected: "No image, no HTML but ours, and links that lead nowhere",
    provenBy: [here("output")],
  },
  {
    name: "injected-actions",
    attack: "The model is told to approve, merge, label, or write to another pull request or repository",
    expected: "Comments on this pull request alone: anything else is not sent",
    provenBy: [here("privilege")],
  },
  {
    name: "head-configuration",
    attack:
      "The pull request changes the configuration, the guidelines or the agent settings of the repository",
    expected: "What the base branch says counts, and what the head says is text under review",
    provenBy: [here("configuration")],
  },
  {
    name: "strangers-commands",
    attack:
      "Commands by people who may not write, by Apps, by nobody, and in events about edited and deleted comments",
    expected: "Nothing happens, and no model is asked",
    provenBy: [here("strangers")],
  },
  {
    name: "loops",
    attack:
      "Our own comments and other bots' hold commands, also in code, quotes and HTML comments, and bots answer us",
    expected: "They are ignored",
    provenBy: [here("strangers"), at("e2e/conversation", "end without a reply of ours")],
  },
  {
    name: "anchor-outside",
    attack: "One finding of many stands outside the diff",
    expected: "The others stand on their lines, and this one is told in the summary",
    provenBy: [
      at(
        "reporters/publish-over-http",
        "leaves out the one comment that has no place in the diff, and says why in the summary",
      ),
      at(
        "e2e/conformance-github-faults",
        "and stands in the summary, with the reason, where its file is no part of the change",
      ),
    ],
  },
  {
    name: "review-refused",
    attack:
      "GitHub refuses a review for a comment that was in the diff when we looked, once, or all of them for good",
    expected: "The bad one is found with a bounded number of questions, and nothing is lost",
    provenBy: [
      at("reporters/publishing-ladder", "for one comment of twenty is posted with the other nineteen, once"),
      at(
        "reporters/publishing-ladder",
        "for all of them is told in the summary alone, with a bounded number of questions",
      ),
      at(
        "e2e/conformance-github-faults",
        "and stands in the summary, with the reason, where GitHub refuses a place that was in the diff when we looked",
      ),
    ],
  },
  {
    name: "moved-head",
    attack: "A push or force-push at any moment of a review, until right before it is posted",
    expected: "Nothing stale is posted, and the new head is reviewed",
    provenBy: [
      here("moved-head"),
      at("e2e/superseded", "cancels that review: nothing stale is posted, and the new head is reviewed"),
    ],
  },
  {
    name: "model-fails",
    attack: "The model fails, says nothing, or refuses",
    expected: "People see that the review failed, and no praise",
    provenBy: [
      here("silent-model"),
      at(
        "e2e/conformance-model-faults",
        "k': at all leaves a failed check, no comment on a line, and no praise",
      ),
      at(
        "e2e/conformance-model-faults",
        "k': after it reported keeps what it found, and says that the review is incomplete",
      ),
    ],
  },
  {
    name: "silenced-findings",
    attack:
      "A pull request has the model end the review at once, reject or refute what rules found, join it, or call it fixed; or the model fails",
    expected:
      "What the analyzers are certain of is published on its lines and keeps the check from being green; what else they matched is answered one by one, or published as not judged",
    provenBy: [
      at("attacks/certain-findings", "though a model %s, at effort %s in the %s protocol"),
      at(
        "e2e/certain-findings",
        "calls them fixed after a push that leaves them: nothing is answered, and the check stays",
      ),
      at(
        "review/candidate-answers.property",
        "is reported, rejected with a reason, or published as not judged, whatever happens: never lost, never twice",
      ),
      at(
        "jobs/model-away",
        "publishes what the analyzers found once, when no attempt is left, and concludes without success",
      ),
    ],
  },
  {
    name: "fix-sandbox",
    attack:
      "Code of the repository that a fix runs to try itself out: network, fork bombs, large files, daemons, writing elsewhere, reading secrets",
    expected:
      "It is contained, killed and cleaned up: two walls of bubblewrap, a filter of system calls and a warden between them; where a machine cannot build them, nothing is run",
    provenBy: [
      at("sandbox/network", "over TCP"),
      at("sandbox/processes", "where a fork bomb goes off"),
      at("sandbox/secrets", "not what whoever started the server left open"),
      at("sandbox/taken-over", "is not believed that says %s"),
      at("sandbox/processes", "where whoever asked for it is killed"),
      at("sandbox/resources", "of the disk, with a file of 10 GB"),
      at("sandbox/privileges", "and writes to its three places alone"),
      at("sandbox/secrets", "not the environment of the server, or of anybody"),
      at("sandbox/system-calls", "lets %s do its own and nothing else"),
      at("sandbox/left-behind", "links are never followed, wherever they lead"),
      at("sandbox/command-port", "keeps nothing when it is ended before its time"),
    ],
  },
  {
    name: "fix-pushes",
    attack: "A fix that changes workflows, tags or other branches, or pushes by force",
    expected:
      "Refused by what the edits are, whatever is said of them; a push moves the one branch, and only from the commit that was read",
    provenBy: [
      at("review/fix/check-edits", "are refused in %s, also where the pull request changes it"),
      at("review/fix/check-edits", "are judged by what a path means, however it is written"),
      at("jobs/commands/commit-fix", "is refused as a whole for %j"),
      at("jobs/commands/commit-fix", "is refused where it would put the folder of %j in the place of a file"),
      at("git/push", "does nothing where the branch has moved on, or is gone"),
      at(
        "jobs/commands/fix",
        "never touches what runs by itself: the model is told, and what it made all the same is refused",
      ),
      at("e2e/fix", "pushes nothing where somebody pushed while it was made"),
    ],
  },
  {
    name: "greedy-connections",
    attack:
      "Connections that send thousands of requests ahead, read no answer, or send a body in pieces of a byte, each of which takes hundreds of bytes of memory",
    expected:
      "They are ended, few of their requests are handled, and none holds a place that another one needs",
    provenBy: [
      at("webhooks/http", "with thousands of requests sent ahead is ended, and few of them are handled"),
      at("webhooks/http", "whose answer nobody reads holds no place that another one needs"),
      at(
        "webhooks/read-body",
        "are refused that come in pieces of a byte, of which each takes the memory of hundreds",
      ),
    ],
  },
  {
    name: "strange-answers",
    attack:
      "GitHub answers with one number of megabytes, with errors of megabytes, with pages in a circle or longer than asked for; a model's endpoint asks for a pause of years",
    expected:
      "Refused before it is parsed, cut in logs and messages, ended after a number of pages; the job comes back within an hour",
    provenBy: [
      at("github/client", "that is one number of megabytes is refused before it is parsed"),
      at("github/client", "is repeated in an error no further than a few hundred characters"),
      at("github/client", "with a page of more items than were asked for is an error"),
      at("github/app-client", "ends a list whose links to the next page lead in a circle"),
      at("llm/openai", "come in an hour at the latest, whatever the endpoint says (%o)"),
    ],
  },
  {
    name: "merge-bases",
    attack:
      "A merge commit with the files of one of its parents, so that the branches have two merge bases and nothing changed since one of them",
    expected: "The review is partial, and says that merging the base branch makes it whole",
    provenBy: [here("merge-bases")],
  },
];
