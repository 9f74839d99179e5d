import type { Guard } from "../guard.ts";

// What holds by itself where another layer is gone. Of two of them no attack through the product tells:
// - No command of the product passes a path to git, so that GIT_LITERAL_PATHSPECS protects whoever passes one some day. Its test
//   passes one to `runGit`.
// - git heeds GIT_ALLOW_PROTOCOL where it is set and `protocol.allow` only where it is not, so that the configuration is a second
//   net. Its test leaves the variable out.

const layers = "test/attacks/git-layers.test.ts";
const environment = "src/git/git-environment.ts";

export const guards: readonly Guard[] = [
  {
    guard: "git knows no folder of hooks",
    row: "code-in-git",
    file: environment,
    from: '["core.hooksPath", "/dev/null"],',
    to: "",
    test: layers,
    title: "code-in-git: are not run, neither by fetches nor by checkouts and reviews",
  },
  {
    guard: "a path is no pattern to git",
    row: "odd-names",
    file: environment,
    from: 'GIT_LITERAL_PATHSPECS: "1",',
    to: "",
    test: layers,
    title: 'odd-names: ":(top)*" is a name to every git that is started, whoever passes it on',
  },
  {
    guard: "no protocol is allowed that is not named",
    row: "foreign-protocols",
    file: environment,
    from: '["protocol.allow", "never"],',
    to: "",
    test: layers,
    title: "foreign-protocols: of the kind 'file' is refused by the configuration alone",
  },
  {
    guard: "opening a pipe waits for nobody",
    row: "symlinks",
    file: "src/git/confined-file.ts",
    from: "O_RDONLY | O_NOFOLLOW | O_NONBLOCK",
    to: "O_RDONLY | O_NOFOLLOW",
    test: "test/attacks/files.test.ts",
    title: "symlinks: a pipe that nobody ever writes to is refused at once",
  },
];
