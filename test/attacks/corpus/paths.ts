import { basename, dirname } from "node:path";
import type { Places } from "./places.ts";

// Every path here leads outside the files of the reviewed repository, at least in some program.

/** Environments and arguments of processes, home folders, keys, databases, other jobs. */
export function secretPaths({
  home,
  keyFile,
  dataFolder,
  server,
  beside,
  fetching,
  neighbor,
}: Places): string[] {
  const processes = ["self", "thread-self", "1", String(server), String(beside)];
  return [
    ...processes.map((one) => `/proc/${one}/environ`),
    ...["cmdline", "cwd/package.json", "root/etc/passwd", "maps", "fd/0", "mem", "mountinfo"].map(
      (file) => `/proc/${server}/${file}`,
    ),
    `/proc/${beside}/cmdline`,
    `/proc/self/task/self/environ`,
    `/proc/${fetching}/task/${fetching}/environ`,
    `/proc/${server}/root${keyFile}`,
    "/dev/stdin",
    "/dev/fd/3",
    "/etc/passwd",
    "/etc/shadow",
    ...["id_rsa", "config"].map((file) => `~/.ssh/${file}`),
    "$HOME/.netrc",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell would put the home folder there.
    "${HOME}/.aws/credentials",
    ...[".ssh/id_rsa", ".ssh/config", ".aws/credentials", ".netrc", ".npmrc"].map(
      (file) => `${home}/${file}`,
    ),
    ...[".gitconfig", ".config/git/config", ".git-credentials"].map((file) => `${home}/${file}`),
    keyFile,
    dataFolder,
    ...["queue.db", "queue.db-wal", "app.json", "tokens.json"].map((file) => `${dataFolder}/${file}`),
    neighbor.checkout,
    `${neighbor.checkout}/neighbor/accounts.txt`,
    `${neighbor.mirror}/config`,
    `${neighbor.mirror}/packed-refs`,
    `file://${keyFile}`,
  ];
}

/** Paths that leave a folder or enter `.git`, in every spelling that some program accepts. */
export function trickPaths({ keyFile, dataFolder, neighbor }: Places): string[] {
  const up = "../".repeat(12);
  const target = keyFile.slice(1);
  const encoded = (step: string) => `${step.repeat(12)}${target}`;
  return [
    "..",
    "../",
    "src/..",
    "src/../..",
    "src/../../parser.ts",
    `${up}${target}`,
    `src/${up}${target}`,
    `./././${up}${target}`,
    `....//....//${target}`,
    `..;/..;/${target}`,
    `.. /.. /${target}`,
    `../0/../1/neighbor/accounts.txt`,
    `../../${basename(dirname(neighbor.checkout))}/${basename(neighbor.checkout)}/neighbor/accounts.txt`,
    ...["%2e%2e/", "%2e%2e%2f", "..%2f", "..%252f", "%c0%ae%c0%ae/", "..%c0%af", "..\\", "..%5c"].map(
      encoded,
    ),
    ...["\\u{2E}\\u{2E}/", "\\u{2e}./", "\uff0e\uff0e/", "\u2024\u2024/", "..\u2215", "..\u200b/"].map(
      encoded,
    ),
    `"../${target}"`,
    `"\\056\\056/${target}"`,
    `src/parser.ts\0`,
    `src/parser.ts\0.png`,
    `\0${keyFile}`,
    `src/parser.ts/../../${up}${target}`,
    `//${target}`,
    `///${target}`,
    `\\\\?\\${keyFile}`,
    "C:\\Windows\\win.ini",
    "\\\\localhost\\c$",
    "/",
    `${dataFolder}/../${basename(dataFolder)}/queue.db`,
    ...gitFolder.map((name) => `${name}/config`),
    ...gitFolder.map((name) => `src/${name}/HEAD`),
    ".git",
    ".gitmodules/../.git/config",
    "HEAD:../../queue.db",
    "HEAD:src/parser.ts",
    ":/",
    ":(top)..",
    ":(exclude)src",
    ":!src",
    "src/parser.ts\n../../queue.db",
    "CON",
    "src/parser.ts::$DATA",
  ];
}

/** Names that some file system treats as `.git`. */
const gitFolder = [
  ".git",
  ".GIT",
  ".Git",
  ".git ",
  ".git.",
  ".git. .",
  "git~1",
  "GIT~1",
  ".git\\",
  ".g\u200cit",
  "\u2024git",
  ".git::$INDEX_ALLOCATION",
];

/** Links in the reviewed repository (`linksOf`), and paths through them. */
export const linkPaths: readonly string[] = [
  "links/to-key",
  "links/to-environment",
  "links/to-root",
  "links/to-root/etc/passwd",
  "links/to-home",
  "links/to-home/.ssh/id_rsa",
  "links/to-database",
  "links/to-neighbor",
  "links/to-neighbor/neighbor/accounts.txt",
  "links/to-folder-above",
  "links/to-folder-above/queue.db",
  "links/chain",
  "links/chain/etc/passwd",
  "links/circle",
  "links/circle/circle",
  "links/to-git",
  "links/to-git/config",
  "links/inside",
  "./links//to-key",
  "src/../links/to-key",
];
