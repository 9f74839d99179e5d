import { at, here, type Listed } from "./row.ts";

/** What comes next. */
export const next: readonly Listed[] = [
  {
    name: "secondary-limit",
    attack: "GitHub's secondary limit, with and without a time to wait; hundreds of findings",
    expected:
      "Writes a second apart, 80 creations a minute and 500 an hour; waits as told or longer; other installations go on",
    provenBy: [
      at("github/pacing-limits", "keeps every limit to the second, whatever four processes ask for"),
      at(
        "reporters/publish-within-limits",
        "as a review, after GitHub was asked which of them it does not take",
      ),
      at(
        "github/pacing",
        "is met by waits that double up to an hour, also by other processes and after restarts",
      ),
      at("github/pacing", "do not hold up those of another"),
    ],
  },
  {
    name: "primary-limit",
    attack: "The hourly limit is used up",
    expected: "The job waits until it is renewed, and others go on",
    provenBy: [
      at(
        "jobs/parked-by-limits",
        "a job that meets a used-up primary limit parks for 40 minutes and resumes, while others go on",
      ),
    ],
  },
  {
    name: "token-expires",
    attack: "A job takes longer than its token lives; a token is refused",
    expected: "A new one is asked for, once, also for git",
    provenBy: [
      at("jobs/token-renewal", "goes on with a fresh one before GitHub refuses the old one"),
      at("jobs/token-renewal", "lives for nearly an hour more, whenever a fetch begins"),
      at("github/client", "is renewed once, and the call sent again, a write too"),
    ],
  },
  {
    name: "gone-mid-job",
    attack:
      "The pull request is closed, locked, a draft or gone, the App is taken away or may do less, all of it in the middle of a job",
    expected: "It ends quietly with a reason, its check run is closed, and what was kept is deleted",
    provenBy: [
      at("e2e/check-runs", "and is closed has its check run called off, and is reviewed when it is reopened"),
      at("e2e/check-runs", "and becomes a draft is told what was read and paid for while it was none"),
      at(
        "reporters/publish-over-http-closed",
        "by locking the conversation is told with what opens it, and the check run holds everything",
      ),
      at("jobs/review-pull", "about a pull request that is gone is given up at once, and the log says so"),
      at("e2e/permissions", "(%s) while its pull request is read ends the review, once"),
      at("jobs/purge", "nothing of it is left: neither jobs nor spending, notes nor mirrors"),
    ],
  },
  {
    name: "fork-deleted",
    attack: "The fork or its branch is deleted",
    expected: "The pull request is reviewed all the same",
    provenBy: [
      at("e2e/conformance-fork", "is reviewed like any other, also after its author has deleted the fork"),
      at("git/checkout", "takes a commit by name when its branch was deleted"),
    ],
  },
  {
    name: "base-moved",
    attack: "Another base, a base that moved on, histories with nothing in common",
    expected: "The diff against the merge base, or a clear word",
    provenBy: [
      at("e2e/check-runs", "is not taken for read where it is to be merged now"),
      at("git/checkout", "can be read in full when the server is gone"),
      at("git/checkout", "a history without a common ancestor"),
    ],
  },
  {
    name: "large-change",
    attack: "More files and lines than GitHub's API shows",
    expected: "All that is readable is reviewed, and the rest is named",
    provenBy: [
      at("e2e/conformance-size", "of 320 files is reviewed to the last one"),
      at("e2e/conformance-size", "of 20 MB has its readable part reviewed, names the rest, and is not green"),
    ],
  },
  {
    name: "bombs",
    attack: "Two megabytes that unfold into a diff of 200, a tree of 10^10 entries, a line of 100 MB",
    expected: "Bounded memory and time, and an honest word",
    provenBy: [here("bombs"), here("bombs-published")],
  },
  {
    name: "slow-patterns",
    attack: "Patterns and globs that take for ever, texts that our own parsers could be slow at",
    expected: "Everything ends in its time, and the process goes on answering",
    provenBy: [here("patterns")],
  },
  {
    name: "kinds-of-change",
    attack:
      "Renames, copies, modes, binaries, submodules, links, empty files, no last line feed, CR LF, BOM, UTF-16, Latin-1",
    expected: "Parsed as git means them, comments on the right lines",
    provenBy: [
      at("git/workspace-oracle", "gives git's raw entries and line counts"),
      at("git/workspace-oracle", "prints the patches that git prints, at any width"),
      at("review/placement.property", "in repositories that nobody would write by hand"),
      at("git/encodings", "reads the same in a patch, on either side, as in the file"),
    ],
  },
  {
    name: "odd-names",
    attack: "Names with line feeds, tabs, quotes, decomposed letters, arrows, git's magic, options",
    expected: "The right file, and no magic",
    provenBy: [
      here("git-layers"),
      at("git/hostile", "may be named like options and like git's magic"),
      at("git/workspace-oracle", "gives git's raw entries and line counts"),
      at("tools/odd-names", "are each listed, shown and covered"),
      at(
        "e2e/conformance-anchors",
        "in files with blanks, quotes, other alphabets and signs of URLs in their names, all linked",
      ),
    ],
  },
  {
    name: "header-lookalikes",
    attack: "Changed lines that look like headers of a diff",
    expected: "They are lines",
    provenBy: [
      at("diff/survey", "counts hunks whose lines look like hunk headers"),
      at("review/placement.property", "in repositories that nobody would write by hand"),
    ],
  },
  {
    name: "hiding-attributes",
    attack: "Attributes and ignore files that hide code from a diff, from a search or from GitHub's page",
    expected: "It is reviewed all the same, and that it hides is a finding",
    provenBy: [
      here("hidden-characters"),
      at("git/hostile", "cannot be hidden by attributes and ignore files"),
    ],
  },
  {
    name: "invisible-characters",
    attack: "Bidirectional, tag and other invisible characters and look-alikes in the change",
    expected: "Shown escaped to the model and to people, and a finding",
    provenBy: [here("hidden-characters"), here("undisputed")],
  },
  {
    name: "hidden-html",
    attack: "HTML comments, nested, open-ended and in entities, and folded text in the description",
    expected: "Shown as text that cannot close its fence",
    provenBy: [
      here("hidden-text"),
      at("text/fence", "stands nowhere in the text, also where its author has guessed how it begins"),
    ],
  },
  {
    name: "live-references",
    attack: "Mentions, issue numbers, closing keywords and commits in what the model writes",
    expected: "None of them is live",
    provenBy: [here("output")],
  },
  {
    name: "body-limits",
    attack: "Bodies beyond GitHub's limits, hundreds of findings and annotations, fences within fences",
    expected: "Cut where it harms nothing, all counted, and suggestions on their lines alone",
    provenBy: [
      here("body-limits"),
      at("reporters/bodies", "fits, however much was found"),
      at("reporters/bodies", "is whole, wherever it was cut"),
      at("reporters/render-comment", "has a suggestion whose fence no other kind of fence can end"),
      at("reporters/publishing-ladder", "are sent fifty at a time"),
    ],
  },
  {
    name: "edited-comment",
    attack: "A comment is edited after it was told of as a command; a push comes between command and review",
    expected: "What was signed in the webhook counts, and the newest head is reviewed",
    provenBy: [here("deliveries")],
  },
  {
    name: "forged-marker",
    attack: "Our hidden markers in texts of people, in the description and in what the model writes",
    expected: "Only what we wrote ourselves is believed",
    provenBy: [here("forged-markers")],
  },
  {
    name: "model-faults",
    attack: "The model's endpoint answers 429 or 500, not at all, with half an answer or with HTML",
    expected: "Bounded retries within the deadline, and an honest end",
    provenBy: [
      at("llm/openai", "come after %s, with growing pauses, until there is an answer"),
      at("llm/openai", "are bounded, and tell that it may work later"),
      at("llm/retry", "end in time as well: of tries that hang for five minutes, one is tried once more"),
      at("e2e/fault-at-k", "ends as one in which none does, whichever call it is"),
    ],
  },
  {
    name: "malformed-json",
    attack: "Arguments that are broken JSON, of the wrong types, cut off, or with __proto__ in them",
    expected: "Mended where it is safe, told to the model, and an honest end where that does not help",
    provenBy: [
      at(
        "attacks/reading",
        "tool-abuse: answers arguments of the wrong type, shape or size in words, and never crashes",
      ),
      at("llm/lenient-json", "means the same with what can be mended"),
      at("agent/run-agent", "always gets answers and the run always ends, whatever it writes"),
      at("e2e/conformance-model-faults", "k: once is told so, says it again, and the finding is delivered"),
    ],
  },
  {
    name: "tool-abuse",
    attack:
      "Unknown tools, wrong arguments, one call fifty times, a thousand at once, no end, places that do not exist",
    expected: "Answers that say so, a limit that stops it, and findings without a place in the summary",
    provenBy: [
      here("reading"),
      at("agent/run-agent", "beyond the sixty-fourth are answered without being executed"),
      at(
        "agent/run-agent",
        "that makes the same call fifty times in one turn gets one execution and fifty answers",
      ),
      at(
        "e2e/stubborn-model",
        "that calls unknown tools, writes broken JSON, asks for paths outside the repository and reports what is not there is told so, and goes on",
      ),
      at(
        "e2e/stubborn-model",
        "that never finishes is stopped by the limit of turns, and what it found is posted",
      ),
    ],
  },
  {
    name: "cost-drain",
    attack: "A hundred pushes a minute, a hundred pull requests, reviews asked for again and again",
    expected: "Few reviews, and none beyond the limits of a day",
    provenBy: [
      here("abuse"),
      at("e2e/superseded", "are at most two reviews that run to their end, and the newest head is reviewed"),
    ],
  },
  {
    name: "poisoned-index",
    attack:
      "A pull request wants its own text in the index that other reviews ask, an index that is not its own, or names of files that are withheld",
    expected:
      "What a head adds is forgotten with its review; an answer tells of that head alone; a file of another version is made anew or refused",
    provenBy: [
      at(
        "graph/open-graph",
        "keeps nothing of what a head adds, byte for byte, and answers with it all the same",
      ),
      at("graph/open-graph", "answers of a head what that head has, whatever was indexed before"),
      at("graph/open-graph", "is made anew where another version wrote it"),
      at("graph/open-graph", "is not taken where another version wrote it"),
      at("graph/open-graph", "gives the number of what it forgot to nothing else"),
      at("graph/source", "holds no private file, no link and no submodule"),
      at("process/review-graph", "leaves nothing of the change in the index"),
      at("process/run-index-process", "can write to the folder of its index alone"),
      at(
        "process/run-index-process",
        "indexes what the mirror has of the base, and nothing that is missing or withheld",
      ),
    ],
  },
  {
    name: "forged-record",
    attack:
      "A record is written over or thinned out, or a file of one is handed on with options for commits, endless or deep lines, turns taken out and escape sequences",
    expected:
      "The database refuses; a file is refused by its line; a replay names what is missing; nothing printed moves a cursor or holds a secret",
    provenBy: [
      at("cli/run-file", "is left alone where it has no end"),
      at("cli/run-file", "is refused where its first line says nothing of it"),
      at("cli/run-story", "fits the terminal and moves no cursor, whatever was read and answered"),
      at("cli/replay", "takes secrets out of what it prints, in whatever form"),
      at("cli/replay-differences", "moves no cursor, whatever stands in the record"),
      at("cli/runs", "shows nobody the key of a pull request, whichever version began a review with it"),
      at(
        "agent/playback",
        "stops at a turn that was taken out of the record, and names it, although the loop ended by itself",
      ),
    ],
  },
  {
    name: "rerun-elsewhere",
    attack:
      "Somebody with write access gives a pull request with a red check a base branch without rules, has the check made again, and gives it its own branch back",
    expected: "The check run of the other branch is another one, and the check is red as before",
    provenBy: [here("one-conclusion")],
  },
  {
    name: "read-for-another",
    attack:
      "An author has a head read for one branch, uses up the budget of the day, and gives the pull request another branch",
    expected: "The head counts as unread for that branch: as red as a limit",
    provenBy: [
      at(
        "jobs/budgets",
        "read-for-another: that is used up leaves a head unread for one branch, though it was read for another",
      ),
    ],
  },
  {
    name: "flooded-threads",
    attack: "So many comments and threads that nobody can read what is open",
    expected: "The check is as red as a limit",
    provenBy: [
      at(
        "jobs/review-pull",
        "flooded-threads: is as red as a limit if there are too many comments to know what is open (%s)",
      ),
    ],
  },
  {
    name: "taken-up-check",
    attack:
      "An author closes a pull request in the middle of its review, has a newer check run made by a draft or for another branch, and opens it again",
    expected: "The newer check run waits for the review",
    provenBy: [
      at(
        "reporters/commit-check",
        "is not passed by another one that was skipped, when its check run is taken up again",
      ),
      at(
        "reporters/commit-check",
        "is not passed by what it came to for another branch while its own review goes on",
      ),
    ],
  },
  {
    name: "older-check-run",
    attack:
      "A check run that is made again finds a fault, under a newer and green one of the same pull request",
    expected: "The newest review counts, whichever check run GitHub shows",
    provenBy: [
      at(
        "reporters/commit-check",
        "counts as the newest word, although check runs of the same pull request were made after it",
      ),
      at(
        "reporters/commit-check",
        "turns a newer check run of the same pull request green if all was dismissed meanwhile",
      ),
    ],
  },
  {
    name: "late-writer",
    attack:
      "A worker writes what a commit came to when it looked, after another one has written what it came to since",
    expected: "The late one looks again, and puts it right",
    provenBy: [
      at("reporters/commit-check", "leave what the later one saw, though the other one writes after it"),
    ],
  },
  {
    name: "long-quote",
    attack:
      "A finding without a comment stands on a line that is too long for what the summary comment remembers",
    expected: "It is remembered without its long texts, and stays open",
    provenBy: [
      at(
        "ledger/state",
        "keeps of a finding that is too long what says where it is and how bad, and those behind it",
      ),
    ],
  },
];
