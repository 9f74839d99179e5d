import { posix } from "node:path";

/**
 * Names of files that are not reviewed line by line, with the reason for people. The pull request chooses its names, so there are only names that
 * belong to a tool: no folders that may contain the project's code (`build/`, `out/`, `lib/`), no scripts that every build runs (`gradlew`).
 */

const lockFiles = new Set([
  ...["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"],
  ...["deno.lock", "esy.lock"],
  ...["Cargo.lock", "go.sum", "go.work.sum", "Gopkg.lock", "glide.lock", "flake.lock", "devbox.lock"],
  ...["poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "pixi.lock", "pylock.toml", "conda-lock.yml"],
  ...["Gemfile.lock", "gems.locked", "composer.lock", "mix.lock", "rebar.lock", "shard.lock", "renv.lock"],
  ...["pubspec.lock", "Podfile.lock", "Cartfile.resolved", "Package.resolved"],
  ...["packages.lock.json", "paket.lock", "gradle.lockfile", "buildscript-gradle.lockfile"],
  ...["stack.yaml.lock", "cabal.project.freeze", "conan.lock", "MODULE.bazel.lock", "mise.lock"],
  ...[".terraform.lock.hcl", "Chart.lock", "buf.lock"],
]);

const foldedLockFiles = new Set([...lockFiles].map((name) => name.toLowerCase()));

/** Whether a lower-case name is that of a lock file on a machine that ignores case. */
export const isLockFile = (name: string): boolean => foldedLockFiles.has(name);

/** Whether the last part of a path is the name of a lock file, in any case. */
export const hasLockName = (path: string): boolean => isLockFile(posix.basename(path).toLowerCase());

const folders = {
  vendored: [
    ...["node_modules", "bower_components", "jspm_packages", "elm-stuff", "site-packages", ".venv", ".eggs"],
    ...["vendor", "third_party", "third-party", "thirdparty", "3rdparty", "3rd_party", "3rd-party"],
    ...["Pods", "Godeps", ".terraform"],
  ],
  generated: ["__generated__", "htmlcov", ".next", ".nuxt", ".svelte-kit", ".dart_tool", ".sqlx"],
  snapshot: ["__snapshots__", "vcr_cassettes"],
};
const reasonByFolder = new Map(
  Object.entries(folders).flatMap(([reason, names]) => names.map((name) => [name, reason] as const)),
);

/** What builds for browsers and Node leave in `dist/`: code of other languages there, and below written code, is written by hand. */
const built =
  /^(?!(?:.*\/)?(?:src|sources?|tests?|__tests__|specs?|testing|cmd|internal)\/)(?:.*\/)?dist\/.*\.(?:[cm]?jsx?|d\.[cm]?ts|css|html?|json|map|wasm|svg|txt|xml|webmanifest|woff2?|ttf|eot|png|ico)$/;

const vendoredPaths = [
  // Each `yarn install` runs releases and plugins.
  ...["sdks", "cache", "unplugged"].map((name) => `/.yarn/${name}/`),
  ...["/Carthage/Checkouts/", "/Carthage/Build/"],
];

const generatedEndings = [
  ...[".min.js", ".min.mjs", ".min.cjs", ".min.css", ".pnp.cjs", ".pnp.js", ".pnp.loader.mjs"],
  ...[".js.map", ".mjs.map", ".cjs.map", ".css.map", ".d.ts.map"],
  // Protocol buffers and their services, in languages whose compilers use their own extension.
  ...[".pb.go", ".pb.gw.go", ".pb.validate.go", ".pb.cc", ".pb.h", ".pb.swift", ".grpc.swift"],
  ...[".pbobjc.h", ".pbobjc.m", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi", "_pb.rb"],
  ...["_pb.js", "_pb.ts", "_pb.d.ts", ".pb.dart", ".pbenum.dart", ".pbjson.dart", ".pbgrpc.dart"],
  ...[".g.dart", ".freezed.dart", ".gr.dart", ".mocks.dart", ".zep.c", ".zep.h", ".zep.php"],
  ...[".g.cs", ".g.i.cs", ".Designer.cs", ".designer.cs", ".Designer.vb", ".designer.vb", ".feature.cs"],
  ...["_generated.go", ".xcworkspacedata", ".xcuserstate"],
];

const snapshotEndings = [".snap", ".ambr"];

/** `types.generated.ts`, `schema.generated.graphql`. */
const generatedInfix = /\.generated\.\w+$/;

/** "lock file", "vendored", "generated" or "snapshot"; null if the name shows none of these. */
export function reasonByName(path: string): string | null {
  const segments = path.split("/");
  const name = segments.pop() ?? "";
  if (lockFiles.has(name)) return "lock file";
  for (const segment of segments) {
    const reason = reasonByFolder.get(segment);
    if (reason !== undefined) return reason;
  }
  if (built.test(path)) return "generated";
  if (vendoredPaths.some((folder) => `/${path}`.includes(folder))) return "vendored";
  if (generatedEndings.some((ending) => name.endsWith(ending)) || generatedInfix.test(name))
    return "generated";
  if (name.startsWith("zz_generated.") && name.endsWith(".go")) return "generated";
  return snapshotEndings.some((ending) => name.endsWith(ending)) ? "snapshot" : null;
}
