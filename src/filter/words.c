/* The vocabulary stands in one table; an open hash over it is built once per engine. */
#include "filter/words.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/mem.h"
#include "filter/chars.h"
#include "filter/limits.h"

#define WORDS_SLOTS 2048
#define WORD_MAX 24

struct word {
    const char *text;
    uint32_t hints;
};

static const struct word vocabulary[] = {
    {"phone", HINT_PHONE},
    {"phones", HINT_PHONE},
    {"telephone", HINT_PHONE},
    {"tel", HINT_PHONE},
    {"mobile", HINT_PHONE},
    {"mob", HINT_PHONE},
    {"cell", HINT_PHONE},
    {"cellphone", HINT_PHONE},
    {"fax", HINT_PHONE},
    {"call", HINT_TALK},
    {"calls", HINT_TALK},
    {"called", HINT_TALK},
    {"calling", HINT_TALK},
    {"caller", HINT_PHONE},
    {"sms", HINT_PHONE},
    {"whatsapp", HINT_PHONE},
    {"signal", HINT_TALK},
    {"dial", HINT_PHONE},
    {"ring", HINT_TALK},
    {"reach", HINT_TALK},
    {"contact", HINT_TALK},
    {"desk", HINT_LINE},
    {"office", HINT_LINE},
    {"handy", HINT_PHONE},
    {"telefon", HINT_PHONE},
    {"telefono", HINT_PHONE},
    {"telefone", HINT_PHONE},
    {"telefoon", HINT_PHONE},
    {"telefonnummer", HINT_PHONE},
    {"telefonu", HINT_PHONE},
    {"telefonem", HINT_PHONE},
    {"telefonisch", HINT_PHONE},
    {"telefonische", HINT_PHONE},
    {"telefonnr", HINT_PHONE},
    {"telnr", HINT_PHONE},
    {"komorka", HINT_PHONE},
    {"telefoonnummer", HINT_PHONE},
    {"handynummer", HINT_PHONE},
    {"mobilnummer", HINT_PHONE},
    {"cellulare", HINT_PHONE},
    {"gsm", HINT_PHONE},
    {"bereikbaar", HINT_TALK},
    {"erreichbar", HINT_TALK},
    {"joindre", HINT_TALK},
    {"llamar", HINT_TALK},
    {"chiamare", HINT_TALK},
    {"celular", HINT_PHONE},
    {"movil", HINT_PHONE},
    {"portable", HINT_PHONE},
    {"puhelin", HINT_PHONE},
    {"mobiel", HINT_PHONE},
    {"mobil", HINT_PHONE},
    {"rufnummer", HINT_PHONE},
    {"phonenumber", HINT_PHONE},
    {"mobilenumber", HINT_PHONE},
    {"phoneno", HINT_PHONE},
    {"msisdn", HINT_PHONE},
    {"hotline", HINT_PHONE},
    {"voicemail", HINT_PHONE},
    {"answering", HINT_TALK},
    {"answer", HINT_TALK},
    {"text", HINT_TALK},
    {"messages", HINT_TALK},
    {"registered", HINT_TALK},
    {"landline", HINT_PHONE},
    {"pager", HINT_PHONE},
    {"viber", HINT_PHONE},
    {"telegram", HINT_PHONE},
    {"helpline", HINT_PHONE},
    {"ext", HINT_PHONE},
    {"m", HINT_LINE},
    {"t", HINT_LINE},
    {"home", HINT_LINE},
    {"ssn", HINT_SSN},
    {"ssns", HINT_SSN},
    {"socialsecurity", HINT_SSN},
    {"social", HINT_SOCIAL},
    {"security", HINT_SECURITY},
    {"itin", HINT_SSN},
    {"tin", HINT_SSN | HINT_NATIONAL},
    {"taxpayer", HINT_SSN | HINT_NATIONAL},
    {"card", HINT_CARD},
    {"cards", HINT_CARD},
    {"cardnumber", HINT_CARD},
    {"ccnumber", HINT_CARD},
    {"creditcard", HINT_CARD},
    {"cc", HINT_CARD},
    {"pan", HINT_CARD | HINT_NATIONAL},
    {"visa", HINT_CARD},
    {"mastercard", HINT_CARD},
    {"amex", HINT_CARD},
    {"maestro", HINT_CARD},
    {"debit", HINT_CARD},
    {"credit", HINT_CARD},
    {"ccnum", HINT_CARD},
    {"cardno", HINT_CARD},
    {"discover", HINT_CARD},
    {"diners", HINT_CARD},
    {"jcb", HINT_CARD},
    {"iban", HINT_IBAN},
    {"bban", HINT_IBAN},
    {"bank", HINT_IBAN},
    {"ip", HINT_IP},
    {"ips", HINT_IP},
    {"ipv4", HINT_IP},
    {"ipv6", HINT_IP},
    {"ipaddress", HINT_IP},
    {"ipaddr", HINT_IP},
    {"lastip", HINT_IP},
    {"clientip", HINT_IP},
    {"remoteaddr", HINT_IP},
    {"host", HINT_IP},
    {"hostip", HINT_IP},
    {"podip", HINT_IP},
    {"mac", HINT_MAC},
    {"macaddress", HINT_MAC},
    {"hwaddr", HINT_MAC},
    {"bssid", HINT_MAC},
    {"device", HINT_MAC},
    {"ether", HINT_MAC},
    {"dob", HINT_DOB},
    {"birthday", HINT_DOB},
    {"birthdate", HINT_DOB},
    {"dateofbirth", HINT_DOB},
    {"born", HINT_DOB},
    {"birth", HINT_BIRTH | HINT_DOB},
    {"geburtsdatum", HINT_DOB},
    {"geboren", HINT_DOB},
    {"naissance", HINT_DOB},
    {"nacimiento", HINT_DOB},
    {"nascimento", HINT_DOB},
    {"nascita", HINT_DOB},
    {"geburtstag", HINT_DOB},
    {"geboortedatum", HINT_DOB},
    {"bday", HINT_DOB},
    {"birthdt", HINT_DOB},
    {"birthdates", HINT_DOB},
    {"urodzenia", HINT_DOB},
    {"geb", HINT_DOB},
    {"gebdatum", HINT_DOB},
    {"nato", HINT_DOB},
    {"nata", HINT_DOB},
    {"nacido", HINT_DOB},
    {"nacida", HINT_DOB},
    {"urodzony", HINT_DOB},
    {"urodzona", HINT_DOB},
    {"fodt", HINT_DOB},
    {"fodd", HINT_DOB},
    {"fodelsedatum", HINT_DOB},
    {"fodselsdato", HINT_DOB},
    {"dogum", HINT_DOB},
    {"datanascita", HINT_DOB},
    {"datenaissance", HINT_DOB},
    {"fechanacimiento", HINT_DOB},
    {"datanascimento", HINT_DOB},
    {"email", HINT_EMAIL},
    {"mail", HINT_EMAIL},
    {"number", HINT_NUMBER},
    {"no", HINT_NUMBER},
    {"num", HINT_NUMBER},
    {"nr", HINT_NUMBER},
    {"nummer", HINT_NUMBER},
    {"numero", HINT_NUMBER},
    {"n", HINT_NUMBER},
    {"user", HINT_USER},
    {"customer", HINT_USER},

    {"password", HINT_SECRET},
    {"passwd", HINT_SECRET},
    {"pwd", HINT_SECRET},
    {"pw", HINT_SECRET},
    {"passphrase", HINT_SECRET},
    {"pass", HINT_SECRET},
    {"secret", HINT_SECRET},
    {"secrets", HINT_SECRET},
    {"token", HINT_SECRET},
    {"tokens", HINT_SECRET},
    {"apikey", HINT_SECRET},
    {"apitoken", HINT_SECRET},
    {"accesskey", HINT_SECRET},
    {"secretkey", HINT_SECRET},
    {"authtoken", HINT_SECRET},
    {"accesstoken", HINT_SECRET},
    {"privatekey", HINT_SECRET},
    {"clientsecret", HINT_SECRET},
    {"credential", HINT_SECRET},
    {"credentials", HINT_SECRET},
    {"bearer", HINT_SECRET},
    {"passcode", HINT_SECRET},
    {"authkey", HINT_SECRET},
    {"connectionstring", HINT_SECRET},
    {"passwort", HINT_SECRET},
    {"kennwort", HINT_SECRET},
    {"contrasena", HINT_SECRET},
    {"webhook", HINT_KEY},
    {"accountkey", HINT_SECRET},
    {"signature", HINT_PUBLIC},
    {"key", HINT_KEY},
    {"keys", HINT_KEY},
    {"auth", HINT_KEY},
    {"authorization", HINT_KEY},
    {"creds", HINT_SECRET},
    {"cred", HINT_SECRET},
    {"psk", HINT_SECRET},
    {"salt", HINT_SECRET},
    {"pat", HINT_SECRET},
    {"senha", HINT_SECRET},
    {"wachtwoord", HINT_SECRET},
    {"haslo", HINT_SECRET},
    {"heslo", HINT_SECRET},
    {"losenord", HINT_SECRET},
    {"adgangskode", HINT_SECRET},
    {"salasana", HINT_SECRET},
    {"sifre", HINT_SECRET},
    {"session", HINT_SESSION},
    {"sessionid", HINT_SESSION},
    {"sessid", HINT_SESSION},
    {"phpsessid", HINT_SESSION},
    {"jsessionid", HINT_SESSION},
    {"sid", HINT_SESSION},

    {"next", HINT_PUBLIC},
    {"page", HINT_PUBLIC},
    {"pagination", HINT_PUBLIC},
    {"continuation", HINT_PUBLIC},
    {"cursor", HINT_PUBLIC},
    {"public", HINT_PUBLIC},
    {"idempotency", HINT_PUBLIC},
    {"nexttoken", HINT_PUBLIC},
    {"pubkey", HINT_PUBLIC},
    {"publickey", HINT_PUBLIC},
    {"fingerprint", HINT_PUBLIC},
    {"checksum", HINT_ID | HINT_PUBLIC},
    {"primary", HINT_PUBLIC},
    {"foreign", HINT_PUBLIC},
    {"sort", HINT_PUBLIC},
    {"partition", HINT_PUBLIC},
    {"cache", HINT_PUBLIC},
    {"keyword", HINT_PUBLIC},
    {"keyboard", HINT_PUBLIC},
    {"partial", HINT_PUBLIC},
    {"marker", HINT_PUBLIC},
    {"resume", HINT_PUBLIC},
    {"tokenizer", HINT_PUBLIC},
    {"sha", HINT_ID | HINT_PUBLIC},
    {"sha1", HINT_ID | HINT_PUBLIC},
    {"sha256", HINT_ID | HINT_PUBLIC},
    {"digest", HINT_ID | HINT_PUBLIC},
    {"hash", HINT_ID | HINT_PUBLIC},
    {"integrity", HINT_PUBLIC},
    {"md5", HINT_ID | HINT_PUBLIC},
    {"arn", HINT_PUBLIC},
    {"url", HINT_PUBLIC},
    {"uri", HINT_PUBLIC},
    {"path", HINT_PUBLIC},
    {"file", HINT_PUBLIC},
    {"filename", HINT_PUBLIC},
    {"field", HINT_PUBLIC},
    {"type", HINT_PUBLIC},
    {"endpoint", HINT_PUBLIC},
    {"etag", HINT_ID | HINT_PUBLIC},
    {"nonce", HINT_PUBLIC},
    {"sequence", HINT_PUBLIC},
    {"prefix", HINT_PUBLIC},
    {"policy", HINT_PUBLIC},
    {"schema", HINT_PUBLIC},

    {"id", HINT_ID},
    {"ids", HINT_ID},
    {"uid", HINT_ID},
    {"uuid", HINT_ID},
    {"guid", HINT_ID},
    {"ref", HINT_ID},
    {"reference", HINT_ID},
    {"order", HINT_ID},
    {"invoice", HINT_ID},
    {"ticket", HINT_ID},
    {"tracking", HINT_ID},
    {"track", HINT_ID},
    {"sku", HINT_ID},
    {"isbn", HINT_ID},
    {"ean", HINT_ID},
    {"upc", HINT_ID},
    {"gtin", HINT_ID},
    {"barcode", HINT_ID},
    {"serial", HINT_ID},
    {"code", HINT_ID},
    {"rev", HINT_ID},
    {"revision", HINT_ID},
    {"sum", HINT_ID},
    {"crc", HINT_ID},
    {"commit", HINT_ID},
    {"size", HINT_ID},
    {"bytes", HINT_ID},
    {"length", HINT_ID},
    {"ts", HINT_ID},
    {"timestamp", HINT_ID},
    {"time", HINT_ID},
    {"epoch", HINT_ID},
    {"created", HINT_ID},
    {"updated", HINT_ID},
    {"expires", HINT_ID},
    {"amount", HINT_ID},
    {"total", HINT_ID},
    {"price", HINT_ID},
    {"count", HINT_ID},
    {"offset", HINT_ID},
    {"snowflake", HINT_ID},
    {"shipment", HINT_ID},
    {"parcel", HINT_ID},
    {"transaction", HINT_ID},
    {"trace", HINT_ID},
    {"span", HINT_ID},
    {"request", HINT_ID},
    {"latitude", HINT_ID},
    {"longitude", HINT_ID},
    {"lat", HINT_ID},
    {"lng", HINT_ID},
    {"lon", HINT_ID},
    {"zip", HINT_ID},
    {"duration", HINT_ID},
    {"ms", HINT_ID},
    {"sec", HINT_ID},
    {"seconds", HINT_ID},
    {"resourceversion", HINT_ID},
    {"imei", HINT_ID},
    {"issue", HINT_ID},
    {"port", HINT_ID},
    {"pid", HINT_ID},
    {"worker", HINT_ID},
    {"thread", HINT_ID},
    {"process", HINT_ID},
    {"job", HINT_ID},
    {"batch", HINT_ID},
    {"artifact", HINT_ID},
    {"shard", HINT_ID},
    {"partition", HINT_ID},
    {"item", HINT_ID},
    {"row", HINT_ID},
    {"orders", HINT_ID},
    {"case", HINT_ID},
    {"booking", HINT_ID},
    {"siret", HINT_ID},
    {"siren", HINT_ID},
    {"hrb", HINT_ID},
    {"ndc", HINT_ID},
    {"cas", HINT_ID},
    {"asin", HINT_ID},
    {"lot", HINT_ID},
    {"bestellung", HINT_ID},
    {"bestellnummer", HINT_ID},
    {"bestellnr", HINT_ID},
    {"auftrag", HINT_ID},
    {"auftragsnummer", HINT_ID},
    {"kundennummer", HINT_ID},
    {"rechnung", HINT_ID},
    {"rechnungsnummer", HINT_ID},
    {"sendungsnummer", HINT_ID},
    {"vorgangsnummer", HINT_ID},
    {"vorgang", HINT_ID},
    {"aktenzeichen", HINT_ID},
    {"referenz", HINT_ID},
    {"commande", HINT_ID},
    {"facture", HINT_ID},
    {"suivi", HINT_ID},
    {"dossier", HINT_ID},
    {"pedido", HINT_ID},
    {"factura", HINT_ID},
    {"fatura", HINT_ID},
    {"referencia", HINT_ID},
    {"seguimiento", HINT_ID},
    {"ordine", HINT_ID},
    {"fattura", HINT_ID},
    {"riferimento", HINT_ID},
    {"bestelling", HINT_ID},
    {"factuur", HINT_ID},
    {"klantnummer", HINT_ID},
    {"ordernummer", HINT_ID},
    {"ordernr", HINT_ID},
    {"zamowienie", HINT_ID},
    {"siparis", HINT_ID},

    {"version", HINT_VERSION},
    {"versions", HINT_VERSION},
    {"ver", HINT_VERSION},
    {"build", HINT_VERSION},
    {"release", HINT_VERSION},
    {"firmware", HINT_VERSION},
    {"semver", HINT_VERSION},
    {"chrome", HINT_VERSION},
    {"safari", HINT_VERSION},
    {"firefox", HINT_VERSION},
    {"oid", HINT_VERSION},
    {"section", HINT_VERSION},
    {"assemblyversion", HINT_VERSION},
    {"driver", HINT_VERSION},

    {"passport", HINT_NATIONAL},
    {"national", HINT_NATIONAL},
    {"nationalid", HINT_NATIONAL},
    {"aadhaar", HINT_NATIONAL},
    {"aadhar", HINT_NATIONAL},
    {"cpf", HINT_NATIONAL},
    {"cnpj", HINT_NATIONAL},
    {"curp", HINT_NATIONAL},
    {"rut", HINT_NATIONAL},
    {"dni", HINT_NATIONAL},
    {"nie", HINT_NATIONAL},
    {"nif", HINT_NATIONAL},
    {"cuit", HINT_NATIONAL},
    {"cuil", HINT_NATIONAL},
    {"pesel", HINT_NATIONAL},
    {"bsn", HINT_NATIONAL},
    {"nhs", HINT_NATIONAL},
    {"nino", HINT_NATIONAL},
    {"insurance", HINT_NATIONAL},
    {"nir", HINT_NATIONAL},
    {"insee", HINT_NATIONAL},
    {"steuer", HINT_NATIONAL},
    {"steuerid", HINT_NATIONAL},
    {"idnr", HINT_NATIONAL},
    {"sin", HINT_NATIONAL},
    {"tfn", HINT_NATIONAL},
    {"medicare", HINT_NATIONAL},
    {"nric", HINT_NATIONAL},
    {"fin", HINT_NATIONAL},
    {"hetu", HINT_NATIONAL},
    {"personnummer", HINT_NATIONAL},
    {"cpr", HINT_NATIONAL},
    {"fodselsnummer", HINT_NATIONAL},
    {"kennitala", HINT_NATIONAL},
    {"oib", HINT_NATIONAL},
    {"cnp", HINT_NATIONAL},
    {"egn", HINT_NATIONAL},
    {"emso", HINT_NATIONAL},
    {"jmbg", HINT_NATIONAL},
    {"ahv", HINT_NATIONAL},
    {"avs", HINT_NATIONAL},
    {"svnr", HINT_NATIONAL},
    {"amka", HINT_NATIONAL},
    {"afm", HINT_NATIONAL},
    {"tckn", HINT_NATIONAL},
    {"kimlik", HINT_NATIONAL},
    {"mynumber", HINT_NATIONAL},
    {"hkid", HINT_NATIONAL},
    {"mykad", HINT_NATIONAL},
    {"nik", HINT_NATIONAL},
    {"ktp", HINT_NATIONAL},
    {"pps", HINT_NATIONAL},
    {"ppsn", HINT_NATIONAL},
    {"identity", HINT_NATIONAL},
    {"citizen", HINT_NATIONAL},
    {"personal", HINT_NATIONAL},
    {"fiscal", HINT_NATIONAL},
    {"fiscale", HINT_NATIONAL},
    {"tax", HINT_NATIONAL},
    {"npi", HINT_NATIONAL},
    {"mbi", HINT_NATIONAL},
    {"teudat", HINT_NATIONAL},
    {"zehut", HINT_NATIONAL},
    {"isikukood", HINT_NATIONAL},
    {"asmens", HINT_NATIONAL},
    {"rodne", HINT_NATIONAL},
    {"rc", HINT_NATIONAL},
    {"sozialversicherung", HINT_NATIONAL},
    {"rijksregister", HINT_NATIONAL},
    {"nrn", HINT_NATIONAL},
    {"resident", HINT_NATIONAL},
    {"licence", HINT_NATIONAL},
    {"license", HINT_NATIONAL},
    {"vat", HINT_NATIONAL},
    {"abn", HINT_NATIONAL},
    {"gstin", HINT_NATIONAL},

    {"wallet", HINT_WALLET},
    {"btc", HINT_WALLET},
    {"bitcoin", HINT_WALLET},
    {"eth", HINT_WALLET},
    {"ethereum", HINT_WALLET},
    {"crypto", HINT_WALLET},
    {"address", HINT_WALLET},
    {"usdt", HINT_WALLET},
    {"litecoin", HINT_WALLET},

    {"adafruit", HINT_VENDOR},
    {"adobe", HINT_VENDOR},
    {"airtable", HINT_VENDOR},
    {"algolia", HINT_VENDOR},
    {"alibaba", HINT_VENDOR},
    {"asana", HINT_VENDOR},
    {"atlassian", HINT_VENDOR},
    {"auth0", HINT_VENDOR},
    {"aws", HINT_VENDOR},
    {"azure", HINT_VENDOR},
    {"beamer", HINT_VENDOR},
    {"bitbucket", HINT_VENDOR},
    {"bittrex", HINT_VENDOR},
    {"cloudflare", HINT_VENDOR},
    {"codecov", HINT_VENDOR},
    {"cohere", HINT_VENDOR},
    {"coinbase", HINT_VENDOR},
    {"confluent", HINT_VENDOR},
    {"confluence", HINT_VENDOR},
    {"contentful", HINT_VENDOR},
    {"databricks", HINT_VENDOR},
    {"datadog", HINT_VENDOR},
    {"discord", HINT_VENDOR},
    {"droneci", HINT_VENDOR},
    {"dropbox", HINT_VENDOR},
    {"etsy", HINT_VENDOR},
    {"facebook", HINT_VENDOR},
    {"fastly", HINT_VENDOR},
    {"finicity", HINT_VENDOR},
    {"finnhub", HINT_VENDOR},
    {"flickr", HINT_VENDOR},
    {"freemius", HINT_VENDOR},
    {"freshbooks", HINT_VENDOR},
    {"gitter", HINT_VENDOR},
    {"gocardless", HINT_VENDOR},
    {"heroku", HINT_VENDOR},
    {"hubspot", HINT_VENDOR},
    {"intercom", HINT_VENDOR},
    {"jfrog", HINT_VENDOR},
    {"artifactory", HINT_VENDOR},
    {"bintray", HINT_VENDOR},
    {"jira", HINT_VENDOR},
    {"kraken", HINT_VENDOR},
    {"kucoin", HINT_VENDOR},
    {"launchdarkly", HINT_VENDOR},
    {"linear", HINT_VENDOR},
    {"linkedin", HINT_VENDOR},
    {"lob", HINT_VENDOR},
    {"looker", HINT_VENDOR},
    {"mailchimp", HINT_VENDOR},
    {"mailgun", HINT_VENDOR},
    {"mapbox", HINT_VENDOR},
    {"mattermost", HINT_VENDOR},
    {"meraki", HINT_VENDOR},
    {"messagebird", HINT_VENDOR},
    {"netlify", HINT_VENDOR},
    {"nytimes", HINT_VENDOR},
    {"newyorktimes", HINT_VENDOR},
    {"okta", HINT_VENDOR},
    {"openai", HINT_VENDOR},
    {"plaid", HINT_VENDOR},
    {"privateai", HINT_VENDOR},
    {"rapidapi", HINT_VENDOR},
    {"sendbird", HINT_VENDOR},
    {"sentry", HINT_VENDOR},
    {"snyk", HINT_VENDOR},
    {"sonar", HINT_VENDOR},
    {"sonarqube", HINT_VENDOR},
    {"squarespace", HINT_VENDOR},
    {"stripe", HINT_VENDOR},
    {"sumo", HINT_VENDOR},
    {"sumologic", HINT_VENDOR},
    {"travis", HINT_VENDOR},
    {"trello", HINT_VENDOR},
    {"twitch", HINT_VENDOR},
    {"twilio", HINT_VENDOR},
    {"twitter", HINT_VENDOR},
    {"yandex", HINT_VENDOR},
    {"zendesk", HINT_VENDOR},
    {"snowflake", HINT_VENDOR},
    {"newrelic", HINT_VENDOR},
    {"kubernetes", HINT_VENDOR},
    {"grafana", HINT_VENDOR},
    {"pagerduty", HINT_VENDOR},
    {"sidekiq", HINT_VENDOR},
    {"bundle", HINT_VENDOR},
    {"braintree", HINT_VENDOR},
};

/* The first letter is missing where it may be a capital. Korean, Chinese and Japanese have none. */
static const struct word foreign[] = {
    {"елефон", HINT_PHONE},
    {"обильн", HINT_PHONE},
    {"τηλ", HINT_PHONE},
    {"טלפון", HINT_PHONE},
    {"هاتف", HINT_PHONE},
    {"जन्म", HINT_DOB},
    {"电话", HINT_PHONE},
    {"電話", HINT_PHONE},
    {"手机", HINT_PHONE},
    {"手機", HINT_PHONE},
    {"携帯", HINT_PHONE},
    {"话：", HINT_PHONE},
    {"전화", HINT_PHONE},
    {"휴대폰", HINT_PHONE},
    {"연락처", HINT_PHONE},
    {"\xe2\x98\x8e", HINT_PHONE},     /* a telephone */
    {"\xf0\x9f\x93\x9e", HINT_PHONE}, /* a handset */
    {"\xf0\x9f\x93\xb1", HINT_PHONE}, /* a mobile */
    {"éléphone", HINT_PHONE},
    {"eléfono", HINT_PHONE},
    {"óvil", HINT_PHONE},
    {"atum narození", HINT_DOB},
    {"ата рождения", HINT_DOB},
    {"ата народження", HINT_DOB},
    {"родил", HINT_DOB},
    {"γέννησης", HINT_DOB},
    {"生年月日", HINT_DOB},
    {"出生", HINT_DOB},
    {"生日", HINT_DOB},
    {"생년월일", HINT_DOB},
    {"생일", HINT_DOB},
    {"né le", HINT_DOB},
    {"née le", HINT_DOB},
    {"né(e)", HINT_DOB},
    {"født", HINT_DOB},
    {"ødselsdato", HINT_DOB},
    {"född", HINT_DOB},
    {"ödelsedatum", HINT_DOB},
    {"yntymä", HINT_DOB},
    {"oğum", HINT_DOB},
    {"zületési", HINT_DOB},
    {"ontraseña", HINT_SECRET},
    {"ароль", HINT_SECRET},
    {"密码", HINT_SECRET},
    {"密碼", HINT_SECRET},
    {"パスワード", HINT_SECRET},
    {"비밀번호", HINT_SECRET},
    {"身份证", HINT_NATIONAL},
    {"주민등록", HINT_NATIONAL},
    {"マイナンバー", HINT_NATIONAL},
    {"écurité sociale", HINT_NATIONAL},
};

struct words {
    uint32_t marks[1024]; /* of the words by their first two letters, a bit each: most texts have others */
    uint32_t hot[1024];   /* of those that make a key worth a look, as its first word */
    uint32_t hot_later[1024];    /* and as another one */
    uint16_t slots[WORDS_SLOTS]; /* index + 1 */
    uint8_t len[ARRAY_LEN(vocabulary)];
    uint8_t far[2048]; /* the first foreign word, index + 1, by the first of its characters beyond ASCII */
    uint8_t far_next[ARRAY_LEN(foreign)];
    uint8_t far_at[ARRAY_LEN(foreign)]; /* where that character is */
};

/* Any case, read in two pieces of up to eight bytes that may overlap: words are short. */
static uint32_t word_hash(const char *text, size_t len) {
    uint64_t first = 0, last = 0;
    if (len >= 8) {
        memcpy(&first, text, 8);
        memcpy(&last, text + len - 8, 8);
    } else if (len >= 4) {
        memcpy(&first, text, 4);
        memcpy(&last, text + len - 4, 4);
    } else {
        memcpy(&first, text, 1);
        memcpy(&last, text + len / 2, len - len / 2);
    }
    const uint64_t fold = UINT64_C(0x2020202020202020);
    const uint64_t h = ((first | fold) * UINT64_C(0x9E3779B97F4A7C15)) ^
                       ((last | fold) * UINT64_C(0xC2B2AE3D27D4EB4F)) ^ len * UINT64_C(0x165667B19E3779F9);
    return (uint32_t)(h >> 40) & (WORDS_SLOTS - 1);
}

static unsigned word_head(const char *text, size_t len) {
    return (unsigned)(text[0] & 31) << 5 | (unsigned)(len > 1 ? text[1] & 31 : 0);
}

/* The number of a bit, from a word's length and its last letter. */
static unsigned word_mark(const char *text, size_t len) {
    return ((unsigned)len ^ (unsigned)text[len - 1] << 1) & 31;
}

static unsigned far_head(const char *p) {
    return ((unsigned)(uint8_t)p[0] & 31) << 6 | ((unsigned)(uint8_t)p[1] & 63);
}

uint32_t pii_words_foreign(const struct words *w, struct slice text) {
    uint32_t hints = 0;
    for (size_t i = 0; i + 1 < text.len; i++) {
        if ((uint8_t)text.ptr[i] < 0xC2)
            continue;
        for (unsigned k = w->far[far_head(text.ptr + i)]; k; k = w->far_next[k - 1]) {
            const struct slice word = slice_str(foreign[k - 1].text);
            const size_t at = w->far_at[k - 1];
            if (i >= at && slice_starts(slice_from(text, i - at), word))
                hints |= foreign[k - 1].hints;
        }
    }
    return hints;
}

static void foreign_build(struct words *w) {
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        const char *p = foreign[i].text;
        while ((uint8_t)*p < 0x80)
            p++;
        w->far_at[i] = (uint8_t)(p - foreign[i].text);
        w->far_next[i] = w->far[far_head(p)];
        w->far[far_head(p)] = (uint8_t)(i + 1);
    }
}

struct words *pii_words_new(void) {
    struct words *w = mem_zalloc(sizeof(*w));
    for (size_t i = 0; i < ARRAY_LEN(vocabulary); i++) {
        w->len[i] = (uint8_t)strlen(vocabulary[i].text);
        const unsigned head = word_head(vocabulary[i].text, w->len[i]);
        const uint32_t mark = UINT32_C(1) << word_mark(vocabulary[i].text, w->len[i]);
        w->marks[head] |= mark;
        if (vocabulary[i].hints & (HINT_SECRET | HINT_VENDOR | HINT_SESSION))
            w->hot[head] |= mark;
        if (vocabulary[i].hints & (HINT_SECRET | HINT_VENDOR | HINT_SESSION | HINT_KEY))
            w->hot_later[head] |= mark;
        uint32_t h = word_hash(vocabulary[i].text, w->len[i]);
        while (w->slots[h])
            h = (h + 1) & (WORDS_SLOTS - 1);
        w->slots[h] = (uint16_t)(i + 1);
    }
    foreign_build(w);
    w->hot[word_head("value", 5)] |= UINT32_C(1) << word_mark("value", 5); /* its neighbour decides */
    return w;
}

void pii_words_free(struct words *w) { free(w); }

/* For words of at most WORD_MAX characters. */
static inline uint32_t lookup(const struct words *w, const char *text, size_t len) {
    if (!(w->marks[word_head(text, len)] >> word_mark(text, len) & 1))
        return 0;
    for (uint32_t h = word_hash(text, len); w->slots[h]; h = (h + 1) & (WORDS_SLOTS - 1)) {
        const size_t i = w->slots[h] - 1u;
        if (w->len[i] == len && slice_eq_nocase(slice_of(vocabulary[i].text, len), slice_of(text, len)))
            return vocabulary[i].hints;
    }
    return 0;
}

/* A key without word borders (`mytokenvalue`, `smtppassword`) still shows what it is. */
static uint32_t look_inside(const char *text, size_t len) {
    uint32_t hints = 0;
    for (size_t i = 0; i + 5 <= len; i++) {
        const char *p = text + i;
        const size_t left = len - i;
        switch (*p) {
        case 'p':
            if (memcmp(p, "passw", 5) == 0)
                hints |= HINT_SECRET;
            else if (memcmp(p, "phone", 5) == 0)
                hints |= HINT_PHONE;
            break;
        case 't':
            if (memcmp(p, "token", 5) == 0)
                hints |= HINT_SECRET;
            break;
        case 's':
            if (left >= 6 && memcmp(p, "secret", 6) == 0)
                hints |= HINT_SECRET;
            break;
        case 'a':
            if (left >= 6 && memcmp(p, "apikey", 6) == 0)
                hints |= HINT_SECRET;
            break;
        case 'c':
            if (left >= 10 && memcmp(p, "creditcard", 10) == 0)
                hints |= HINT_CARD;
            break;
        default:
            break;
        }
    }
    return hints;
}

uint32_t pii_words_lookup(const struct words *w, struct slice word) {
    return word.len == 0 || word.len > WORD_MAX ? 0 : lookup(w, word.ptr, word.len);
}

/* Adds hints that two halves have only together. */
static uint32_t join(uint32_t hints) {
    if (hints & HINT_SOCIAL && (hints & (HINT_NUMBER | HINT_SECURITY) || !(hints & HINT_ID)))
        hints |= HINT_SSN;
    if (hints & HINT_VENDOR && hints & HINT_KEY)
        hints |= HINT_SECRET;
    return hints;
}

uint32_t pii_words_all(const struct words *w, const char *text, uint64_t alnum) {
    uint32_t hints = 0;
    for (uint64_t todo = alnum & ~(alnum << 1); todo; todo &= todo - 1) {
        const unsigned at = (unsigned)__builtin_ctzll(todo);
        const unsigned len = (unsigned)__builtin_ctzll(~(alnum >> at));
        if (len > 1 && len <= WORD_MAX)
            hints |= lookup(w, text + at, len);
    }
    return join(hints);
}

static bool camel_border(struct slice key, size_t i) {
    const char c = key.ptr[i];
    if (!ch_is(c, CH_UPPER))
        return false;
    return ch_is(key.ptr[i - 1], CH_LOWER | CH_DIGIT) ||
           (i + 1 < key.len && ch_is(key.ptr[i + 1], CH_LOWER) && ch_is(key.ptr[i - 1], CH_UPPER));
}

/* What makes a plain "key" behind it a secret one. */
static bool key_maker(const char *text, size_t len) {
    static const char *const makers[] = {"api",         "access", "private", "service", "signing",
                                         "encryption",  "master", "app",     "account", "consumer",
                                         "application", "tenant", "auth",    "hmac"};
    if (len < 3 || len > 11 || !memchr("apsemcth", text[0], 8))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(makers); i++)
        if (makers[i][0] == text[0] && strlen(makers[i]) == len && memcmp(makers[i], text, len) == 0)
            return true;
    return false;
}

uint32_t pii_words_key(const struct words *w, struct slice key) {
    char low[PII_KEY_MAX];
    uint32_t hints = 0;
    size_t from = 0;
    bool api = false;
    if (key.len > PII_KEY_MAX)
        key = slice_from(key, key.len - PII_KEY_MAX);
    bool odd = false;
    for (size_t i = 0; i < key.len; i++) {
        low[i] = ch_lower(key.ptr[i]);
        odd |= (uint8_t)low[i] >= 0x80;
    }
    if (odd)
        hints = pii_words_foreign(w, key);
    for (size_t i = 0; i <= key.len; i++) {
        const bool alnum = i < key.len && ch_alnum(key.ptr[i]);
        if (alnum && !(i > from && camel_border(key, i)))
            continue;
        size_t len = i - from;
        if (len > 0) {
            uint32_t found = len <= WORD_MAX ? lookup(w, low + from, len) : 0;
            /* rev0, code1, line2: a numbered key is the word before its number */
            size_t bare = len;
            while (!found && bare > 1 && ch_digit(low[from + bare - 1]))
                bare--;
            if (!found && bare < len && bare <= WORD_MAX)
                found = lookup(w, low + from, bare);
            size_t head = 0; /* 4155552671ssn: two values without a border */
            while (!found && head < len && ch_digit(low[from + head]))
                head++;
            if (!found && head > 4 && len - head > 1 && len - head <= WORD_MAX)
                found = lookup(w, low + from + head, len - head);
            if (!found)
                found = look_inside(low + from, len);
            if (found & HINT_KEY && api)
                found |= HINT_SECRET;
            api = key_maker(low + from, len);
            hints |= found;
        }
        from = alnum ? i : i + 1;
    }
    return join(hints);
}

#if defined(__SSE2__)

/* Parts of the words that look_inside finds: ke of token and apikey, ssw of passw, ecr of secret. */
static inline unsigned secret_parts(__m128i low) {
    const __m128i next = _mm_srli_si128(low, 1), third = _mm_srli_si128(low, 2);
    const __m128i ke =
        _mm_and_si128(_mm_cmpeq_epi8(low, _mm_set1_epi8('k')), _mm_cmpeq_epi8(next, _mm_set1_epi8('e')));
    const __m128i ssw = _mm_and_si128(
        _mm_and_si128(_mm_cmpeq_epi8(low, _mm_set1_epi8('s')), _mm_cmpeq_epi8(next, _mm_set1_epi8('s'))),
        _mm_cmpeq_epi8(third, _mm_set1_epi8('w')));
    const __m128i ecr = _mm_and_si128(
        _mm_and_si128(_mm_cmpeq_epi8(low, _mm_set1_epi8('e')), _mm_cmpeq_epi8(next, _mm_set1_epi8('c'))),
        _mm_cmpeq_epi8(third, _mm_set1_epi8('r')));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(ke, _mm_or_si128(ssw, ecr)));
}

static inline unsigned tail_is(__m128i x, char c) {
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(c)));
}
static inline unsigned tail_below(__m128i x, char span) {
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(span)), x));
}

bool pii_words_harmless(const struct words *w, const char tail[WORDS_TAIL]) {
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)tail);
    const __m128i low = _mm_or_si128(x, _mm_set1_epi8(32));
    const unsigned letter = tail_below(_mm_sub_epi8(low, _mm_set1_epi8('a')), 25);
    const unsigned digit = tail_below(_mm_sub_epi8(x, _mm_set1_epi8('0')), 9);
    const unsigned blank = tail_is(x, ' ');
    const unsigned inner = letter | digit | tail_is(x, '_') |
                           tail_below(_mm_sub_epi8(x, _mm_set1_epi8('-')), 1) |
                           (blank & ~(blank >> 1)); /* of two blanks the first is outside */
    const unsigned outside = inner ^ 0xffff;
    if (!outside || !((letter | digit) >> 15))
        return false;
    const unsigned border = 31 - (unsigned)__builtin_clz(outside), inside = ~0u << (border + 1);
    if (secret_parts(low) & inside || (border < WORDS_TAIL - 13 && (tail[WORDS_TAIL - 1] | 32) == 'n'))
        return false;
    const unsigned lower = letter & (unsigned)_mm_movemask_epi8(_mm_slli_epi16(x, 2)),
                   upper = letter & ~lower;
    const unsigned all = (letter | digit) & inside;
    const unsigned camel = upper & ((lower | digit) << 1 | (upper << 1 & lower >> 1));
    const unsigned starts = (all & ~(all << 1)) | (camel & all), stops = ~all | starts;
    const uint32_t *hot = w->hot;
    for (unsigned todo = starts; todo; todo &= todo - 1) {
        const unsigned at = (unsigned)__builtin_ctz(todo),
                       len = (unsigned)__builtin_ctz(stops >> (at + 1)) + 1;
        const uint32_t marks = hot[word_head(tail + at, 2)];
        hot = w->hot_later;
        if (!marks)
            continue;
        const unsigned bare = letter & ((1u << (at + len)) - (1u << at)); /* code14 has the hints of code */
        if (marks >> word_mark(tail + at, len) & 1 ||
            (bare && marks >> word_mark(tail + at, 32 - (unsigned)__builtin_clz(bare) - at) & 1))
            return false;
    }
    return true;
}

#else

bool pii_words_harmless(const struct words *w, const char tail[WORDS_TAIL]) {
    (void)w, (void)tail;
    return false;
}

#endif
