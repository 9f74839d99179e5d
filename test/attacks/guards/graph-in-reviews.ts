import type { Guard } from "../guard.ts";

const row = "poisoned-index";
const review = { row, file: "src/process/review-graph.ts", test: "test/process/review-graph.test.ts" };
const index = { row, file: "src/process/update-index.ts", test: "test/process/run-index-process.test.ts" };
const context = { row, test: "test/review/context/graph-callers.test.ts" };

/** What keeps one pull request out of what the graph tells the reviews of others. */
export const guards: readonly Guard[] = [
  {
    ...review,
    guard: "a review only reads the index: what its head adds is forgotten",
    from: "readOnly: true,",
    to: "readOnly: false,",
    title: "leaves nothing of the change in the index",
  },
  {
    ...review,
    guard: "the graph of a review holds no private file",
    from: "sourceOfWorkspace(workspace, isPrivate),",
    to: "sourceOfWorkspace(workspace, () => false),",
    title: "knows callers at the head, in files of the base and in those of the change",
  },
  {
    ...index,
    guard: "private files are not indexed",
    from: "privacyOf(workspace, privatePaths)",
    to: "privacyOf(workspace, privatePaths.slice(9))",
    title: "indexes what the mirror has of the base, and nothing that is missing or withheld",
  },
  {
    ...index,
    guard: "a blob that is missing is not put down as one of which nothing is known",
    from: "files: files.filter(isHere).slice(0, MAX_FILES)",
    to: "files: files.filter((one) => isHere(one) || true).slice(0, MAX_FILES)",
    title: "indexes what the mirror has of the base, and nothing that is missing or withheld",
  },
  {
    ...index,
    guard: "the process that indexes may write to the index's folder alone",
    file: "src/process/start-review-process.ts",
    from: "confinement([], { writable: [folder] })",
    to: 'confinement([], { writable: [folder, folder.replace("mirror.git/hunkwise-graph", "elsewhere")] })',
    title: "can write to the folder of its index alone",
  },
  {
    ...context,
    guard: "no caller is shown out of a file that is withheld",
    file: "src/review/context/callers.ts",
    from: "found.filter((one) => isReadable(one.path))",
    to: "found.filter((one) => isReadable(one.path) || true)",
    also: [
      {
        file: "src/review/context/repository-files.ts",
        from: "if (!isReadable(path)) return null;",
        to: "",
      },
    ],
    title: "shows nothing of a file that is withheld",
  },
  {
    ...context,
    guard: "no commit is named that changed a file which is withheld",
    file: "src/review/context/earlier-commits.ts",
    from: "files.filter(({ reviewable }) => reviewable)",
    to: "files.filter(({ reviewable }) => reviewable || true)",
    title: "tells of no commit on a withheld file",
  },
  {
    ...context,
    guard: "what earlier commits say stands in a fence",
    file: "src/review/context/earlier-commits.ts",
    from: 'wrapUntrusted("commit messages", shown.join("\\n"))',
    to: 'wrapUntrusted("", "") + shown.join("\\n")',
    title: "tells which commits changed these files before, fenced, and none that changed everything",
  },
];
