import {
  form,
  isLogin,
  looksLikeAwsKey,
  looksLikePassword,
  looksLikeToken,
  random,
  randomWithDigit,
  type SecretForm,
} from "./secret-form.ts";

const codeHosts: SecretForm[] = [
  // The newest tokens of installations hold a JSON web token, hence dot and dash, and have some 520 characters.
  form("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", /(?<!\w)gh[pousr]_[\w-]{16,}(?:\.[\w-]+)*/g),
  form("GitHub fine-grained token", "github_pat_", /(?<!\w)github_pat_\w{22,}/g),
  form(
    "GitLab token",
    "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- gloas- glimt- glagent- glffct-",
    /(?<![\w-])gl(?:pat|dt|rt|rtr|ptt|cbt|soat|ft|oas|imt|agent|ffct)-[\w=-]{20,}(?:\.[\w-]+){0,3}/g,
    random,
  ),
  form("GitLab runner token", "gr1348941", /(?<!\w)GR1348941[\w-]{20,}/g),
];

const clouds: SecretForm[] = [
  form("AWS access key id", "akia asia", /(?<!\w)(?:AKIA|ASIA)[A-Z2-7]{16}(?!\w)/g),
  form("AWS secret access key", "aws", /(?<![\w/+.-])[A-Za-z\d/+]{40}(?![\w/+=.-])/g, looksLikeAwsKey),
  form(
    "AWS session token",
    "iqojb3jpz2lu fwogzxivyxdz",
    /(?<![\w/+])(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[\w/+]{60,}={0,2}/g,
  ),
  form("AWS Bedrock key", "absk", /(?<!\w)ABSK[\w/+]{100,}={0,2}/g),
  form("Google API key", "aiza", /(?<![\w-])AIza[\w-]{35}(?![\w-])/g),
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
  form("Azure shared access signature", "sig=", /(?<=[?&;]sig=)[\w%/+.-]{40,}=?/g),
  form("Azure DevOps token", "azdo", /(?<!\w)\w{60,80}AZDO\w{4}(?!\w)/g),
  form("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", /(?<!\w)do[opr]_v1_[\da-f]{64}/g),
  form("Heroku key", "hrku-", /(?<![\w-])HRKU-[\w-]{36,}/g),
  form("Databricks token", "dapi", /(?<!\w)dapi[\da-f]{32}(?:-\d)?(?!\w)/g),
  form("Tailscale key", "tskey-", /(?<![\w-])tskey-[a-z]+-[\w-]{20,}/g),
  form("Supabase key", "sbp_ sb_secret_", /(?<!\w)(?:sbp_[\da-f]{40}|sb_secret_[\w-]{24,})/g),
  form("PlanetScale key", "pscale_", /(?<!\w)pscale_(?:tkn|pw|oauth)_[\w.-]{30,}/g),
  form("Netlify or Render key", "nfp_ rnd_", /(?<!\w)(?:nfp|rnd)_[A-Za-z0-9]{24,}(?!\w)/g, randomWithDigit),
];

const messages: SecretForm[] = [
  form(
    "Slack token",
    "xox xapp-",
    /(?<![\w-])(?:xox[abeoprs](?:\.xox[bp])?|xapp)-[\w-]{20,}/g,
    randomWithDigit,
  ),
  form(
    "Slack webhook",
    "hooks.slack.com",
    /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Z\d]{8,}\/[\w/-]{20,}/g,
    randomWithDigit,
  ),
  form("Twilio key", "sk", /(?<!\w)SK[\da-f]{32}(?!\w)/g),
  form("SendGrid key", "sg.", /(?<![\w.-])SG\.[\w-]{16,32}\.[\w-]{30,64}/g, randomWithDigit),
  form("Mailgun key", "key-", /(?<![\w-])key-[\da-f]{32}(?!\w)/g),
  form("Mailgun key", "-", /(?<![\w-])[\da-f]{32}-[\da-f]{8}-[\da-f]{8}(?![\w-])/g),
  form("Mailchimp key", "-us", /(?<![\w-])[\da-f]{32}-us\d{1,2}(?!\w)/g),
  form("Brevo key", "xkeysib- xsmtpsib-", /(?<![\w-])x(?:key|smtp)sib-[\da-f]{64}-\w{16}/g),
  form("Telegram bot token", ":aa", /(?<![\w:])\d{8,10}:AA[\w-]{33}(?![\w-])/g),
  form("Discord bot token", ".", /(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,42}(?![\w-])/g, random),
  form(
    "Discord webhook",
    "/api/webhooks/",
    /(?<=discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/)[\w-]{60,}/g,
  ),
];

const money: SecretForm[] = [
  form("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", /(?<!\w)[rs]k_(?:live|test)_[A-Za-z\d]{16,}/g),
  form("Stripe webhook secret", "whsec_", /(?<!\w)whsec_[\w/+]{24,}={0,2}/g, random),
  form("Shopify token", "shp", /(?<!\w)shp(?:at|ca|pa|ss|tka)_[\da-fA-F]{32}/g),
  form("Square token", "eaaa sq0", /(?<![\w-])(?:EAAA[\w-]{60}|sq0(?:atp|csp|idp)-[\w-]{22,43})(?![\w-])/g),
];

const packages: SecretForm[] = [
  form("npm token", "npm_", /(?<!\w)npm_[A-Za-z\d]{36}(?!\w)/g),
  form(
    "npm registry password",
    ":_auth :_password",
    /(?<=:_(?:authToken|auth|password)=)"?[\w/+.-]{12,}={0,2}/g,
    random,
  ),
  form("PyPI token", "pypi-ag", /(?<![\w-])pypi-Ag[\w-]{50,}/g),
  form("RubyGems key", "rubygems_", /(?<!\w)rubygems_[\da-f]{48}/g),
  form("crates.io token", "cio", /(?<!\w)cio[A-Za-z\d]{32}(?!\w)/g, randomWithDigit),
  form("Docker token", "dckr_", /(?<!\w)dckr_(?:pat|oat)_[\w-]{20,}/g),
  form("Docker login", '"auth"', /(?<="auth"\s{0,3}:\s{0,3}")[A-Za-z\d/+]{16,}={0,2}/g, isLogin),
  form("Artifactory key", "akcp", /(?<!\w)AKCp\w{60,}/g),
];

const models: SecretForm[] = [
  form("OpenAI or Anthropic key", "sk-", /(?<![\w-])sk-[\w-]{16,}/g, randomWithDigit),
  form("Hugging Face token", "hf_ api_org_", /(?<!\w)(?:hf|api_org)_[A-Za-z]{34}(?!\w)/g),
  form("Groq key", "gsk_", /(?<!\w)gsk_[A-Za-z\d]{40,}/g),
  form("xAI key", "xai-", /(?<![\w-])xai-\w{60,}/g),
  form("Perplexity key", "pplx-", /(?<![\w-])pplx-[A-Za-z\d]{40,}/g),
  form("Replicate token", "r8_", /(?<!\w)r8_[A-Za-z\d]{37}(?!\w)/g),
  form("NVIDIA key", "nvapi-", /(?<![\w-])nvapi-[\w-]{50,}/g),
  form("Fireworks key", "fw_", /(?<!\w)fw_[A-Za-z\d]{22,}(?!\w)/g, randomWithDigit),
  form("LangSmith key", "lsv2_", /(?<!\w)lsv2_(?:pt|sk)_[\da-f]{32}_[\da-f]{10}/g),
];

const operations: SecretForm[] = [
  form(
    "Grafana token",
    "glsa_ glc_",
    /(?<!\w)(?:glsa_[A-Za-z\d]{32}_[\da-fA-F]{8}|glc_[\w/+]{32,}={0,2})/g,
    randomWithDigit,
  ),
  form(
    "New Relic key",
    "nrak- nrii- nrjs- nral",
    /(?<![\w-])(?:NRAK-[A-Z\d]{27}|NR(?:II|JS|BR|SP)-[\w-]{19,32}|[\da-f]{36}NRAL)(?![\w-])/g,
  ),
  form("Sentry token", "sntryu_ sntrys_ sntrya_ sntryi_", /(?<!\w)sntry[aisu]_[\w/+=]{40,}/g),
  form("Vault token", "hvs. hvb. hvr.", /(?<![\w.-])hv[brs]\.[\w-]{24,}/g, random),
  form("Vault token", "s.", /(?<![\w.-])s\.[A-Za-z\d]{24}(?![\w-])/g, randomWithDigit),
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
];

const work: SecretForm[] = [
  form("Linear key", "lin_api_ lin_oauth_", /(?<!\w)lin_(?:api|oauth)_[A-Za-z\d]{40,64}(?!\w)/g),
  form(
    "Notion token",
    "secret_ ntn_",
    /(?<!\w)(?:secret_[A-Za-z\d]{43}|ntn_[A-Za-z\d]{40,})(?!\w)/g,
    randomWithDigit,
  ),
  form("Postman key", "pmak-", /(?<![\w-])PMAK-[\da-f]{24}-[\da-f]{34}/g),
  form("Atlassian token", "atatt3 atctt3 atbb", /(?<!\w)AT(?:ATT|CTT)3[\w=-]{60,}(?:=[\dA-F]{8})?/g),
  form("Figma token", "figd_", /(?<!\w)figd_[\w-]{38,}/g),
  form("Airtable token", "pat", /(?<![\w.])pat[A-Za-z\d]{14}\.[\da-f]{64}/g),
  form("Contentful token", "cfpat-", /(?<![\w-])CFPAT-[\w-]{40,}/g),
  form("Dropbox token", "sl.", /(?<![\w.-])sl\.[\w-]{100,}/g),
];

const anywhere: SecretForm[] = [
  form("JSON web token", "eyj", /(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}(?:\.[\w-]+)*/g),
  form("age key", "age-secret-key-", /(?<!\w)AGE-SECRET-KEY-1[A-Z\d]{50,}/g),
  form(
    "URL with a password",
    "://",
    /(?<=:\/\/[\w.%+-]{0,100}:)[^\s:/@"'`<>{}$\\]{6,200}(?=@[^\s/])/g,
    looksLikePassword,
  ),
  form(
    "password in a connection string",
    "password= pwd=",
    /(?<=[;?&](?:password|pwd)=)[^\s;&"'`<>{}$\\]{8,200}/gi,
    looksLikePassword,
  ),
  form("login in a header", "basic", /(?<=\bbasic\s{1,3})[\w/+]{12,}={0,2}/gi, isLogin),
  form(
    "token in a header",
    "bearer token",
    /(?<=authorization["']?\s{0,3}[:=]\s{0,3}["'`]?(?:bearer|token)\s{1,3})[\w~/+.-]{20,}={0,2}/gi,
    looksLikeToken,
  ),
];

/** What the issuers of secrets say about their forms, and what their keys look like where they say nothing. */
export const secretForms: readonly SecretForm[] = [
  ...codeHosts,
  ...clouds,
  ...messages,
  ...money,
  ...packages,
  ...models,
  ...operations,
  ...work,
  ...anywhere,
];
