import { posix } from "node:path";

/** Source code and pages. A file of secrets may be a shell script, but is rarely named like one. */
const source =
  /\.(?:[cm]?[jt]sx?|py[ix]?|rb|rake|go|rs|java|kts?|groovy|scala|cs|cshtml|fs|vb|php|c|cc|cpp|h|hpp|mm?|swift|dart|vue|svelte|astro|exs?|erl|hs|elm|ml|clj[cs]?|lua|pl|r|jl|zig|nix|tf|proto|graphql|sql|(?:ba|fi)?sh|ps1|mk|hbs|erb|ejs|pug|twig|pub|mdx?|rst|adoc|ipynb|html?|css|s[ac]ss|less|svg|png)$/i;
/** Files that show what a secret file looks like, certificates of others, and texts for people. */
const harmless =
  /(?:^|[._-])(?:example|sample|template|tmpl|tpl|dist)(?:\.(?:env|ya?ml|json|toml|ini|properties|xml))?$|(?:^|[._-])(?:ca|cacert|chain|fullchain|pub(?:lic|key)?)\.(?:pem|asc)$/i;
const translations = /(?:^|\/)(?:locales?|i18n|l10n|lang|translations)\/.*\.(?:json|ya?ml)$/i;

/** Of programs that keep secrets in them. */
const files =
  /^(?:\.env(?:rc|[._ -].*)?|.*\.env|env\.\w+|.*\.(?:pem|key|p8|p12|pfx|jks|keystore|ppk|ovpn|asc|kdbx|tfvars|tfstate|kubeconfig)|id_(?:rsa|dsa|ecdsa|ed25519).*|ssh_host_\w+_key|deploy[-_]key|\.(?:npmrc|netrc|pypirc|pgpass|git-credentials|htpasswd|my\.cnf|s3cfg|vault-token|dockercfg|boto)|_netrc|\.?credentials(?:\.\w+)?|secrets?(?:[.-](?:prod|production|staging|dev|local|live))?\.(?:ya?ml|json|toml|ini|properties|xml)|client_?secrets?(?:[_.-].*)?\.(?:ya?ml|json|toml|ini|properties|xml)|service[-_]?account.*\.json|.*-firebase-adminsdk-.*\.json|application_default_credentials\.json|kubeconfig(?:\.ya?ml)?|\.?rclone\.conf|auth\.json|\.?vault[-_]?pass.*|.*\.tfvars\.json)$/i;
const folders =
  /(?:^|\/)(?:\.aws\/(?:credentials|config)|\.kube\/config[^/]*|\.docker\/config\.json|\.ssh\/.*|\.gnupg\/.*|\.config\/gcloud\/.*)$/i;

/** Whether a file is named like one with secrets, which people forget to ignore. A copy counts as well: `.npmrc.bak`, `id_rsa.old`, `#.env#`. */
export function isNamedLikeSecret(path: string): boolean {
  const name = posix
    .basename(path)
    .replace(/^#(.*)#$/, "$1")
    .replace(/(?:[._-](?:bak|old|orig|save|swp|backup)|\.\d+| copy|~)+$/i, "");
  if (source.test(name) || harmless.test(name) || translations.test(path)) return false;
  return files.test(name) || folders.test(posix.join(posix.dirname(path), name));
}

/** Why no model sees such a file in a local review, if it is new and staged or committed. */
export const NAMED_LIKE_SECRET = "named like a secret: only scanned for secrets";
