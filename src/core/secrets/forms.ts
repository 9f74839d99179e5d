import { isOfWords, isPlaceholder, looksMixed, looksRandom, partsOfName } from "./randomness.ts";
import type { TextRange } from "./ranges.ts";

export interface FoundSecret extends TextRange {
  /** What it is, for people: "GitHub token". */
  kind: string;
  /** Whether its own form shows who issued it. Otherwise, only a name or the code around it says that it is a secret. */
  isIssued: boolean;
}

/**
 * A format that identifies a secret. Each pattern is linear: it starts only at the beginning of a run, and its repeats cannot be split in two
 * ways.
 */
interface SecretForm {
  kind: string;
  /** In lower case. A text without any of them contains no secret of this form. */
  hints: readonly string[];
  pattern: RegExp;
  accept(found: string): boolean;
  isIssued: boolean;
}

type Accept = SecretForm["accept"];

const form = (
  kind: string,
  hints: string,
  pattern: RegExp,
  accept: Accept = random,
  isIssued = true,
): SecretForm => ({ kind, hints: hints.split(" "), pattern, accept, isIssued });

/** A form that other values have as well: a model or a person judges each. */
const likely = (kind: string, hints: string, pattern: RegExp, accept: Accept = random) =>
  form(kind, hints, pattern, accept, false);

function noPlaceholder(found: string): boolean {
  return !isPlaceholder(found);
}

/** Of every form of an issuer: its variable part is random. */
function random(found: string): boolean {
  return noPlaceholder(found) && !isOfWords(found);
}

function isLogin(encoded: string): boolean {
  const decoded = Buffer.from(encoded, "base64").toString("latin1");
  const password = /^[\x20-\x39\x3b-\x7e]{0,100}:([\x20-\x7e]{6,})$/.exec(decoded)?.[1];
  return password !== undefined && !isMadeUp(password) && noPlaceholder(password);
}

function looksLikePassword(value: string): boolean {
  return looksRandom(value, 8) || (looksMixed(value, 8) && !partsOfName(value));
}

/** The key has no mark of its own: forty characters of base64, in a text that names AWS. */
function looksLikeAwsKey(value: string): boolean {
  return looksRandom(value, 40) && /[A-Z]/.test(value) && /[a-z]/.test(value);
}

function looksLikeToken(value: string): boolean {
  return looksRandom(value, 20);
}

/** What people write in place of a password. */
const madeUp =
  /^(?:x+|\*+|\.+|pass(?:w(?:or)?d)?|pwd|pw|secret|changeme|test|admin|root|user(?:name)?|postgres|mysql|mongo|guest|tiger|token|[%[].*)$/i;
const isMadeUp = (password: string) => madeUp.test(password);
const isWeak = (password: string) => isMadeUp(password) || /^p[a4@]ss/i.test(password);
/** Hosts that no one else can reach, or that are made up. */
const localHost =
  "(?:localhost|127\\.[\\d.]+|0\\.0\\.0\\.0|\\[::1\\]|[\\w-]+|[\\w.-]*\\.(?:local|localhost|test|internal|invalid)|(?:[\\w.-]*\\.)?(?:example|host|domain|server)\\.\\w+)";
const urlPassword = new RegExp(
  `(?<=://[\\w.%+-]{0,100}:)[^\\s:/@"'\`<>{}$\\\\]{4,200}(?=@[^\\s/])(?!@${localHost}(?:[:/?#"'\`\\s,;)]|$))`,
  "gi",
);

/** Formats that the issuers of secrets document, and otherwise the observed formats of their keys. */
export const secretForms: readonly SecretForm[] = [
  // Code hosts
  // The newest tokens of installations contain a JSON web token, hence dot and dash, and have about 520 characters.
  form("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", /(?<!\w)gh[pousr]_[\w-]{16,}(?:\.[\w-]+)*/g),
  form("GitHub fine-grained token", "github_pat_", /(?<!\w)github_pat_\w{22,}/g),
  form(
    "GitLab token",
    "glpat- gldt- glrt- glrtr- glptt- glcbt- glsoat- glft- gloas- glimt- glagent- glffct-",
    /(?<![\w-])gl(?:pat|dt|rt|rtr|ptt|cbt|soat|ft|oas|imt|agent|ffct)-[\w=-]{20,}(?:\.[\w-]+){0,3}/g,
  ),
  form("GitLab runner token", "gr1348941", /(?<!\w)GR1348941[\w-]{20,}/g),

  // Clouds
  form(
    "AWS access key id",
    "akia asia abia acca",
    /(?<!\w)(?:AKIA|ASIA|ABIA|ACCA)(?!IOSFODNN7)[A-Z2-7]{16}(?!\w)/g,
  ),
  form(
    "AWS secret access key",
    "secret",
    /(?<![A-Za-z\d/+])(?=[A-Za-z\d/+]{40})(?<=secret[-_.]?(?:access)?[-_]?key["'\]]{0,2}(?::\s?string)?\s{0,40}(?::=|=>|[:=>\s])\s{0,40}b?["'`]?)(?!wJalrXUtnFEMI)[A-Za-z\d/+]{40}(?![\w/+=])/gi,
    looksLikeAwsKey,
  ),
  likely("AWS secret access key", "aws", /(?<![\w/+.-])[A-Za-z\d/+]{40}(?![\w/+=.-])/g, looksLikeAwsKey),
  form(
    "AWS session token",
    "iqojb3jpz2lu fwogzxivyxdz",
    /(?<![\w/+])(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[\w/+]{60,}={0,2}/g,
  ),
  form(
    "AWS Bedrock key",
    "absk bedrock-api-key-",
    /(?<!\w)(?:ABSK[\w/+]{100,}|bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[\w/+]{20,})={0,2}/g,
  ),
  // Many are public: those of maps and of Firebase are part of pages and apps.
  likely("Google API key", "aiza", /(?<![\w-])AIza[\w-]{35}(?![\w-])/g),
  form("Google OAuth client secret", "gocspx-", /(?<![\w-])GOCSPX-[\w-]{28}(?![\w-])/g),
  form("Google OAuth token", "ya29.", /(?<![\w-])ya29\.[\w-]{40,}/g),
  form("Google refresh token", "1//0", /(?<![\w/:])1\/\/0[\w-]{40,}/g),
  form("Firebase messaging key", "aaaa", /(?<![\w-])AAAA[\w-]{7}:[\w-]{130,}/g),
  form("Azure client secret", "q~", /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~-])/g),
  form(
    "Azure account key",
    "accountkey= accesskey=",
    /(?<=\b(?:AccountKey|SharedAccessKey)=)[\w/+]{40,}={0,2}/g,
  ),
  form(
    "Azure shared access signature",
    "sig= sig%=%",
    /(?<=[?&;\s%]sig(?:=|%=%))(?<=\bs[evr][=%]{1,3}[^\n"'<>]{0,250})[\w%/+.-]{40,}(?:=%?)?/g,
  ),
  likely("signature of an address", "sig= sig%=%", /(?<=[?&;\s%]sig(?:=|%=%))[\w%/+.-]{40,}(?:=%?)?/g),
  form("Azure DevOps token", "azdo", /(?<!\w)\w{60,80}AZDO\w{4}(?!\w)/g),
  form("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", /(?<!\w)do[opr]_v1_[\da-f]{64}/g),
  form("Heroku key", "hrku-", /(?<![\w-])HRKU-[\w-]{36,}/g),
  form("Databricks token", "dapi", /(?<!\w)dapi[\da-f]{32}(?:-\d)?(?!\w)/g),
  form("Tailscale key", "tskey-", /(?<![\w-])tskey-[a-z]+-[\w-]{20,}/g),
  form("Supabase key", "sbp_ sb_secret_", /(?<!\w)(?:sbp_[\da-f]{40}|sb_secret_[\w-]{24,})/g),
  form("PlanetScale key", "pscale_", /(?<!\w)pscale_(?:tkn|pw|oauth)_[\w=.-]{30,}/g),
  form("Netlify or Render key", "nfp_ rnd_", /(?<!\w)(?:nfp|rnd)_[A-Za-z0-9]{24,}(?!\w)/g),

  // Messages
  form(
    "Slack token",
    "xox xapp-",
    /(?<![\w-])(?:xoxd-[\w%/+=-]{40,}|(?:xox[abceoprs](?:\.xox[bp])?|xapp)-(?=[\w-]{20})(?:\w+-)*[A-Za-z\d]{10,}(?![\w-]))/g,
  ),
  form(
    "Slack webhook",
    "hooks.slack",
    /(?<=hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/)[\w/+-]{32,}/g,
  ),
  form("Twilio key", "sk", /(?<!\w)SK[\da-f]{32}(?!\w)/g),
  form("SendGrid key", "sg.", /(?<![\w.-])SG\.[\w=-]{16,32}\.[\w=-]{30,64}/g),
  form("Mailgun key", "key-", /(?<![\w-])key-[\da-f]{32}(?!\w)/g),
  form("Mailgun key", "-", /(?<![\w-])[\da-f]{32}-[\da-f]{8}-[\da-f]{8}(?<![\d-]{17})(?![\w-])/g),
  form("Mailchimp key", "chimp", /(?<![\w/-])[\da-f]{32}-us\d{1,2}(?![\w/])/g),
  likely("Mailchimp key", "-us", /(?<![\w/-])[\da-f]{32}-us\d{1,2}(?![\w/])/g),
  form("Brevo key", "xkeysib- xsmtpsib-", /(?<![\w-])x(?:key|smtp)sib-[\da-f]{64}-\w{16}/g),
  form("Telegram bot token", ":aa", /(?:(?<![\w:])|(?<=\/bot))\d{8,10}:AA[\w-]{33}(?![\w-])/g),
  likely("Discord bot token", ".", /(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,42}(?![\w-])/g),
  form(
    "Discord webhook",
    "/api/webhooks/",
    /(?<=discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/)[\w-]{60,}/g,
  ),

  // Money
  form("Stripe key", "k_live_ k_test_ k_prod_", /(?<!\w)[rs]k_(?:live|test|prod)_[A-Za-z\d]{16,}/g),
  form("Stripe webhook secret", "whsec_", /(?<!\w)whsec_[\w/+]{24,}={0,2}/g),
  form("Shopify token", "shp", /(?<!\w)shp(?:at|ca|pa|ss|tka)_[A-Za-z\d]{32,}/g),
  form("Square token", "eaaa sq0", /(?<![\w-])(?:EAAA[\w-]{60}|sq0(?:atp|csp|idp)-[\w-]{22,43})(?![\w-])/g),

  // Packages and registries
  form("npm token", "npm_", /(?<!\w)npm_[A-Za-z\d]{36}(?!\w)/g),
  form(
    "npm registry password",
    ":_auth :_password",
    /(?<=:_(?:authToken|auth|password)\s?=\s?)["']?[\w/+.-]{12,}={0,2}/g,
  ),
  form("PyPI token", "pypi-ag", /(?<![\w-])pypi-Ag[\w-]{50,}/g),
  form("RubyGems key", "rubygems_", /(?<!\w)rubygems_[\da-f]{48}/g),
  form("crates.io token", "cio", /(?<!\w)cio[A-Za-z\d]{32}(?!\w)/g),
  form("Docker token", "dckr_", /(?<!\w)dckr_(?:pat|oat)_[\w-]{20,}/g),
  form("Docker login", '"auth', /(?<="auth\\{0,3}"\s{0,3}:\s{0,3}\\{0,3}")[A-Za-z\d/+]{16,}={0,2}/g, isLogin),
  form("Artifactory key", "akcp", /(?<!\w)AKCp\w{60,}/g),

  // Models
  form("OpenAI key", "t3blbkfj", /(?<![\w-])sk-(?:[a-z]{2,10}-)?[\w-]{20,80}T3BlbkFJ[\w-]{20,80}/g),
  form(
    "Anthropic key",
    "sk-ant-",
    /(?<![\w-])sk-ant-(?:(?!api|admin)[a-z]{2,10}\d\d-[\w-]{24,}|(?:api|admin)\d\d-[\w-]{80,}AA(?![\w-]))/g,
  ),
  likely("key of a model's provider", "sk-", /(?<![\w-])sk-(?=[\w-]*\d)[\w-]{16,}/g),
  form("Hugging Face token", "hf_ api_org_", /(?<!\w)(?:hf|api_org)_[A-Za-z]{34}(?!\w)/g),
  form("Groq key", "gsk_", /(?<!\w)gsk_[A-Za-z\d]{40,}/g),
  form("xAI key", "xai-", /(?<![\w-])xai-\w{60,}/g),
  form("Perplexity key", "pplx-", /(?<![\w-])pplx-[A-Za-z\d]{40,}/g),
  form("Replicate token", "r8_", /(?<!\w)r8_[A-Za-z\d]{37}(?!\w)/g),
  form("NVIDIA key", "nvapi-", /(?<![\w-])nvapi-[\w-]{50,}/g),
  form("Fireworks key", "fw_", /(?<![\w-])fw_[A-Za-z\d]{22,}(?!\w)/g),
  form("LangSmith key", "lsv2_", /(?<!\w)lsv2_(?:pt|sk)_[\da-f]{32}_[\da-f]{10}/g),

  // Operations
  form("Grafana token", "glsa_ glc_", /(?<!\w)(?:glsa_[A-Za-z\d]{32}_[\da-fA-F]{8}|glc_[\w/+]{32,}={0,2})/g),
  form(
    "New Relic key",
    "nrak- nrii- nrbr- nrsp- nral",
    /(?<![\w-])(?:NRAK-[A-Za-z\d]{27}|NR(?:II|BR|SP)-[\w-]{19,32}|[\da-f]{36}NRAL)(?![\w-])/g,
  ),
  form(
    "Sentry token",
    "sntryu_ sntrys_ sntrya_ sntryi_",
    /(?<!\w)(?:sntryu_[\da-f]{64}|sntrys_eyJpYXQiO[\w/+]{10,}={0,2}_[\w/+]{43}|sntry[ai]_[\w/+=]{40,})(?![\w/+=])/g,
  ),
  form("Vault token", "hvs. hvb. hvr.", /(?<![\w.-])hv[brs]\.[\w-]{24,}/g),
  likely("Vault token", "s.", /(?<![\w.-])s\.(?=[A-Za-z]*\d)[A-Za-z\d]{24}(?![\w-])/g),
  form("Terraform token", ".atlasv1.", /(?<![\w.-])\w{14}\.atlasv1\.[\w-]{60,}/g),
  form("Pulumi token", "pul-", /(?<![\w-])pul-[\da-f]{40}(?!\w)/g),
  form(
    "Doppler token",
    "dp.",
    /(?<![\w.-])dp\.(?:pt|st|ct|sa|scim|audit)(?:\.[\w-]{2,35})?\.[A-Za-z\d]{40,44}(?!\w)/g,
  ),
  form("SonarQube token", "sqp_ squ_ sqa_", /(?<!\w)sq[apu]_[\da-f]{40}(?!\w)/g),
  form("Buildkite token", "bkua_", /(?<!\w)bkua_[\da-f]{40}/g),
  form("PostHog key", "phx_", /(?<!\w)phx_[A-Za-z\d]{40,}/g),

  // Work and documents
  form("Linear key", "lin_api_ lin_oauth_", /(?<!\w)lin_(?:api|oauth)_[A-Za-z\d]{40,64}(?!\w)/g),
  form("Notion token", "secret_ ntn_", /(?<!\w)(?:secret_[A-Za-z\d]{43}|ntn_\d{11}[A-Za-z\d]{35})(?!\w)/g),
  form("Postman key", "pmak-", /(?<![\w-])PMAK-[\da-f]{24}-[\da-f]{34}/g),
  form(
    "Atlassian token",
    "atatt3 atctt3 atbb",
    /(?<!\w)AT(?:[AC]TT3[\w=-]{60,}(?:=[\dA-F]{8})?|BB[A-Za-z\d]{32}(?!\w))/g,
  ),
  form("Figma token", "figd_", /(?<!\w)figd_[\w-]{38,}/g),
  form("Airtable token", "pat", /(?<![\w.])pat[A-Za-z\d]{14}\.[\da-f]{64}/g),
  form("Contentful token", "cfpat-", /(?<![\w-])CFPAT-[\w-]{40,}/g),
  form("Dropbox token", "sl.", /(?<![\w.-])sl\.[\w-]{100,}/g),

  // Formats of many issuers
  // Of "-----BEGIN " and then "PRIVATE KEY" at any of three places.
  form(
    "private key in base64",
    "ls0tls1crudjti",
    /(?<![\w+/])LS0tLS1CRUdJTi[\w+/]{1,16}?(?:UFJJVkFURSBLRV|QUklWQVRFIEtFW|BSSVZBVEUgS0VZ)[\w+/]{80,}={0,2}/g,
  ),
  likely("JSON web token", "eyj", /(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}(?:\.[\w-]+)*/g),
  form("age key", "age-secret-key-", /(?<!\w)AGE-SECRET-KEY-1[A-Z\d]{50,}/g),
  form("URL with a password", "://", urlPassword, (found) => looksLikePassword(found) && !isWeak(found)),
  likely("URL with a password", "://", urlPassword, (found) => noPlaceholder(found) && !isMadeUp(found)),
  likely(
    "password in a connection string",
    "password= pwd=",
    /(?<=[;?&](?:password|pwd)=)[^\s;&"'`<>{}$\\]{8,200}/gi,
    looksLikePassword,
  ),
  likely("login in a header", "basic", /(?<=\bbasic\s{1,3})[\w/+]{12,}={0,2}/gi, isLogin),
  likely(
    "token in a header",
    "authorization",
    /(?<=authorization["'\]]{0,2}\s{0,3}[:=,]\s{0,3}["'`]?(?:bearer|token)\s{1,3})[\w~/+.-]{20,}={0,2}/gi,
    looksLikeToken,
  ),
];

/** What the forms of issuers find, for people. */
export const issuedKinds: readonly string[] = [
  ...new Set(["private key", ...secretForms.filter(({ isIssued }) => isIssued).map(({ kind }) => kind)]),
];

/** Endings of a name whose value is a secret. A longer name around it changes nothing, so no name hides another one. */
const secretName =
  "(?:pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|app|access|account|private|signing|encryption|master|auth|secret|client|license)[-_.]?key|credentials?|[-_.]pat)";
const nameHints = /pass|pwd|secret|token|key|credential|[-_.]pat/i;

/** Before such an ending: the value is public, or no secret on its own. */
const isPublic = /(?:public[-_.]?key|[cx]srf|page|next|continuation|sync|cancell?ation|design|com)[-_.]?$/i;

/** A quotation mark, also an escaped one. */
const quote = "\\\\{0,3}[\"'`]";
/** Characters of a value, of which eight follow. */
const valueCharacter = "[^\\s\"'`,;(){}[\\]<>$\\\\&]";
const value = `(?=${valueCharacter}{8})`;
const wholeValue = new RegExp(`${valueCharacter}{0,500}`, "y");
/** Around a sign: as much as formatters align fields with. */
const blanks = "(?:[ \\t]{0,40}|\\s{0,3})";
/** What is between a name and its value. */
const between = [
  // An assignment, a comparison or a field, also with a type.
  `(?:${quote})?\\[?\\]?(?:\\s{1,2}(?:string|str))?${blanks}(?::\\s{0,2}[\\w<>&|?.* ]{1,30}=|:{0,3}=|[?.+]=|=>|={2,3}|:)${blanks}(?:[bru@]?(?:${quote}){1,3}(?:(?:bearer|token) )?)?`,
  // Arguments, a value in place of a missing one, and a macro.
  `(?:${quote}\\s{0,2},\\s{0,2}|\\(|(?:${quote})?[\\])]{0,2}\\s{0,3}(?:\\|\\||\\?\\?|or)\\s{0,3}|[ \\t]{1,40})${quote}`,
  // An element of XML, and a name beside a value: `key="Token" value="..."`.
  `(?:${quote})?>\\s{0,60}|(?:${quote})?[\\s,]{1,40}(?:${quote})?value(?:${quote})?\\s{0,3}[=:]\\s{0,3}(?:${quote})?`,
  // A block of YAML, and a here-document.
  `\\s{0,3}(?::\\s{0,2}[|>][-+]?|(?:=\\s{0,3})?(?:\\$\\(cat )?<<[-~]?["']?\\w{1,20}["']?)\\r?\\n\\s{0,40}`,
].join("|");
/** Which of several secrets it is: `password2`, `SECRET_KEY_BASE`, `TOKEN_PROD`. */
const whichOne = "\\d{0,2}(?:[-_]?(?:base|v\\d|prod(?:uction)?|live|dev|staging|test))?";
const assignments = [
  new RegExp(`${secretName}${whichOne}(?:${between})${value}`, "gi"),
  // An option, a line of a Dockerfile, and one of a .netrc.
  new RegExp(`(?:--|\\bENV |\\blogin \\S{1,80} )[\\w-]{0,40}?${secretName}\\s{1,3}["']?${value}`, "gi"),
];

/** Code after the value: a call or a member access is not a literal. */
const goesOn = /^(?:[({[<]|\$[({])/;

const fewestCharacters = 12;
/** Of a password, which people may have to type. */
const fewestOfPassword = 8;

const word = /^(?:[A-Z]{3}|[A-Za-z][a-z]{2})/;
const camelCase = /^[A-Za-z][a-z]+(?:[A-Z][a-z]+)+$/;

/** The address of an account or a coin, which is shorter than a key, and values that their issuer calls public. */
const publicValue = /^(?:0x[\da-f]{40}$|pk_(?:test|live)_)/i;

/** Whether the value is public, or the name of a token or key in code. */
function isNoSecret(found: string): boolean {
  if (publicValue.test(found) || camelCase.test(found) || /[^!-~]/.test(found)) return true;
  const parts = partsOfName(found) ?? [];
  return parts.length > 1 && parts.some((part) => word.test(part));
}

function isSecretValue(name: string, found: string): boolean {
  if (isNoSecret(found)) return false;
  if (looksRandom(found, fewestCharacters)) return true;
  const isMixed = [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(found));
  return /^(?:pass|pwd)/i.test(name) && isMixed && looksRandom(found, fewestOfPassword);
}

/** Random values that belong to a name like `password`. A value ends where another name with a value begins, so that this is linear. */
function assignedSecretsIn(text: string): FoundSecret[] {
  if (!nameHints.test(text)) return [];
  return assignments.flatMap((pattern) => {
    const all = [...text.matchAll(pattern)];
    return all.flatMap((match, at) => {
      const start = match.index + match[0].length;
      return assignedAt(text, match, start, Math.min(start + 500, all[at + 1]?.index ?? text.length));
    });
  });
}

function assignedAt(text: string, { 0: name, index }: RegExpExecArray, start: number, limit: number) {
  wholeValue.lastIndex = start;
  const end = Math.min(limit, start + (wholeValue.exec(text)?.[0].length ?? 0));
  const isElement = /^\s{0,60}<\//.test(text.slice(end, end + 64)) && /[>\s]/.test(text.charAt(start - 1));
  const isCode = goesOn.test(text.slice(end, end + 2)) && !isElement;
  const isNone = isCode || isPublic.test(text.slice(Math.max(0, index - 16), index));
  if (isNone || !isSecretValue(name, text.slice(start, end))) return [];
  return [{ kind: "secret value", isIssued: false, start, end: endOfQuoted(text, start, end) }];
}

/** A password in quotation marks may have any sign: it ends at the next one of them. */
function endOfQuoted(text: string, start: number, end: number): number {
  const mark = text.charAt(start - 1);
  const [rest = ""] = text.slice(end, end + 200).split(mark, 1);
  const isAll = /["'`]/.test(mark) && rest.length < 200 && !/\s/.test(rest);
  return isAll ? end + rest.replace(/\\+$/, "").length : end;
}

/** The beginning of a key in PEM or PuTTY format. */
const beginning =
  /-----BEGIN {1,3}(?:[A-Z\d]+ {1,3}){0,4}PRIVATE {1,3}KEY(?: BLOCK)?-----|Private-Lines: \d{1,4}(?!\d)/g;
/** Text between the lines of a quoted key: line ends, including escaped ones, marks of quotes, diffs, comments, strings and line numbers. */
const betweenLines =
  /(?:\\[nrt]|[\s>|"'`,;.\\*+[\]()#%]|-(?!----)|\d{1,7}(?: +│|:(?=\s))|\/\/(?=[\t ])|REM(?= )|<br ?\/?>)*/y;
const ending = /-{5,6}END [A-Z\d ]{0,40}-----/y;
const headerLine = /[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,200}/y;
const lineOfKey =
  /[A-Za-z\d/](?:[\w+/]|\\\/|%2[BFbf]){15,}(?:={1,2}|(?:%=%){1,2})?|[A-Za-z\d/](?:[\w+/]|\\\/|%2[BFbf]){0,15}(?:={1,2}|%=%)/y;
const shortLine = /[A-Za-z\d/][A-Za-z\d/+]{0,15}(?=[\s\\nr"'`,>|*.+#%/:\dREM]{1,20}-{5,6}END )/y;

const mostHeaders = 6;
/** A shorter key is a placeholder. */
const fewestKeyCharacters = 40;
/** Of keys that documentation shows in part: all keys of a kind begin like this. */
const longestBeginning = 128;

/** Private keys, from the first line to the last, or to the end of their characters. Linear in the text's length. */
function privateKeysIn(text: string): FoundSecret[] {
  if (!text.includes("PRIVATE") && !text.includes("Private-Lines")) return [];
  const all: FoundSecret[] = [];
  for (const { 0: first, index: start } of text.matchAll(beginning)) {
    const { end, body } = bodyAt(text, start + first.length);
    const isShortened = body.length < longestBeginning && text.slice(start, end).includes("...");
    if (body.length >= fewestKeyCharacters && !isShortened && random(body))
      all.push({ kind: "private key", isIssued: true, start, end });
  }
  return all;
}

/** The key characters that follow, and the end of the key with its last line. */
function bodyAt(text: string, start: number): { end: number; body: string } {
  const length = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0].length ?? 0;
  };
  let end = start;
  let body = "";
  let headers = 0;
  for (let at = start; ; ) {
    at += length(betweenLines, at);
    const last = length(ending, at);
    if (last > 0) return { end: at + last, body };
    const line = length(lineOfKey, at) || length(shortLine, at);
    const header = line === 0 && body === "" && headers++ < mostHeaders ? length(headerLine, at) : 0;
    if (line + header === 0) return { end, body };
    body += text.slice(at, at + line);
    at += line + header;
    if (line > 0) end = at;
  }
}

/** Escapes of programs, terminals, XML and addresses: a token is recognized right after one. One in an address may be part of a password. */
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  /\\(?:[nrtbfve]|[0-7]{1,3}|x[\da-fA-F]{2}|u[\da-fA-F]{4}|u\{[\da-fA-F]{1,6}\})(?:\[[\d;]{0,10}m)?|\u001b\[[\d;]{0,10}m|&#(?:1[03]|x0?[ADad]);|%(?:20|0[ADad]|2[267]|3[A-Fa-f])/g;

const unescaped = (written: string) =>
  written.replaceAll(escapes, (found) => (/^%[23][^0]/.test(found) ? "%=%" : " ".repeat(found.length)));

/** Secrets that are recognizable by their form, or by the name to which they belong. Linear in the text's length. */
export function secretFormsIn(written: string): FoundSecret[] {
  const text = unescaped(written);
  return [...issuedSecretsIn(text), ...assignedSecretsIn(text)];
}

function issuedSecretsIn(text: string): FoundSecret[] {
  const small = text.toLowerCase();
  const known = secretForms.filter(({ hints }) => hints.some((hint) => small.includes(hint)));
  return [...privateKeysIn(text), ...known.flatMap((one) => placesOf(one, text))];
}

/** Formats of texts, and of data whose lines may hold commands as well: by the last extension, as `config.env.js` is code. */
const prose = /(?<!(?:^|\/)cmakelists)\.(?:md|txt|netrc|npmrc)$/i;
const data =
  /\.(?:env|ya?ml|ini|cfg|conf|properties|xml)$|(?:^|\/)\.env[.-](?:local|dev|development|prod|production|staging|test|ci|example|sample)$/i;
/** A line with a line end in place of its value: `NAME=value`, `key: value`, an element. A line of YAML with another sign may be a command. */
const wholeLine =
  /^\s{0,40}(?:- |export )?["']?[\w.-]{1,80}["']?[\t ]{0,40}[=:][\t ]{0,40}\n[\t ]{0,40}(?:#.*|\r)?$|>\n<\//;
const lineOfYaml = /:[\t ]+\n/;
const plainValue = /^[\w+/=.:~-]+$/;

/** Whether a place is certainly a value and no code: characters of a token, and all of a literal. */
export function isLiteral(path: string, text: string, { start, end }: TextRange): boolean {
  const mark = /(["'`])(?:(?:bearer|token) )?$/i.exec(text.slice(Math.max(0, start - 8), start))?.[1];
  const isQuoted = mark !== undefined && mark === text.charAt(end);
  const before = /.*$/.exec(text.slice(Math.max(0, start - 200), start))?.[0] ?? "";
  const line = `${before}\n${/^.*/.exec(text.slice(end, end + 200))?.[0] ?? ""}`;
  const isWhole =
    data.test(path) && wholeLine.test(line) && (!/\.ya?ml$/i.test(path) || lineOfYaml.test(line));
  return plainValue.test(text.slice(start, end)) && (isQuoted || isWhole || prose.test(path));
}

function placesOf({ kind, isIssued, pattern, accept }: SecretForm, text: string): FoundSecret[] {
  return [...text.matchAll(pattern)]
    .filter(([found]) => accept(found))
    .map(({ 0: found, index }) => ({ kind, isIssued, start: index, end: index + found.length }));
}
