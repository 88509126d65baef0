/**
 * The failure converter that goes with payload codecs: messages and stack traces of failures travel inside of a payload, which
 * the codecs see, instead of beside it in clear. CommonJS, because Temporal's SDK loads it by `require`.
 */
// eslint-disable-next-line @typescript-eslint/no-require-imports -- the import of a CommonJS module
import common = require('@temporalio/common');

export = { failureConverter: new common.DefaultFailureConverter({ encodeCommonAttributes: true }) };
