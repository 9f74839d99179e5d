/** Names of files that nobody reads line by line, and the word that people read for it. Tables, since every path of a change is looked up. */

const lockFiles = new Set([
  ...["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"],
  ...[
    "deno.lock",
    "Cargo.lock",
    "go.sum",
    "go.work.sum",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
  ],
  ...["pixi.lock", "Gemfile.lock", "composer.lock", "mix.lock", "pubspec.lock", "Podfile.lock"],
  ...["Package.resolved", "packages.lock.json", "gradle.lockfile", "flake.lock", ".terraform.lock.hcl"],
  ...["MODULE.bazel.lock", "conan.lock"],
]);

const folders = new Map([
  ...["node_modules", "bower_components", "jspm_packages", "vendor", "third_party", "site-packages"].map(
    (name) => [name, "vendored"] as const,
  ),
  ...["Pods", ".venv"].map((name) => [name, "vendored"] as const),
  ...["dist", "__generated__"].map((name) => [name, "generated"] as const),
  ["__snapshots__", "snapshot"],
]);

const vendoredPaths = ["/.yarn/releases/", "/.yarn/plugins/", "/.yarn/cache/", "/Carthage/Checkouts/"];

const generatedEndings = [
  ...[".min.js", ".min.mjs", ".min.css", ".js.map", ".css.map"],
  ...[".pb.go", ".pb.gw.go", ".pb.cc", ".pb.h", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb.js", "_pb.ts"],
  ...["_pb.d.ts", ".g.dart", ".freezed.dart", ".g.cs", ".Designer.cs", "_generated.go"],
  ...[".generated.ts", ".generated.js", ".generated.go", ".generated.cs"],
];

const snapshotEndings = [".snap", ".ambr"];

/** "lock file", "vendored", "generated" or "snapshot"; null for a path whose name says nothing of the kind. */
export function reasonByName(path: string): string | null {
  const segments = path.split("/");
  const name = segments.pop() ?? "";
  if (lockFiles.has(name)) return "lock file";
  for (const segment of segments) {
    const reason = folders.get(segment);
    if (reason !== undefined) return reason;
  }
  if (vendoredPaths.some((folder) => `/${path}`.includes(folder))) return "vendored";
  if (generatedEndings.some((ending) => name.endsWith(ending))) return "generated";
  if (name.startsWith("zz_generated.") && name.endsWith(".go")) return "generated";
  return snapshotEndings.some((ending) => name.endsWith(ending)) ? "snapshot" : null;
}
