// Each is the runtime that is right, with one mistake.
import { Runtime } from './runtime.mjs';

export class Unasked extends Runtime {
  async whyNot() { return ''; }
}

export class Acting extends Runtime {
  async whyNot(...given) { await super.whyNot(...given); return ''; }
}

export class Belated extends Runtime {
  decided() {}
  executed(tool, given, how) {
    const running = super.executed(tool, given, how);
    super.decided({ id: how.callId, function: tool }, 'approve');
    return running;
  }
}

export class Unaudited extends Runtime {
  decided() {}
}

export class Unchecked extends Runtime {
  argumentsOf(call) { return JSON.parse(call.function.arguments); }
}

export class Boasting extends Runtime {
  told({ value }) { return { value }; }
}

export class Fragile extends Runtime {
  failure(error) { throw error; }
}

export class Leaking extends Runtime {
  failure(error) { return { error: error.message }; }
}

export class Patient extends Runtime {
  executed(tool, given, { callId }) { return tool.execute(given, { callId }); }
}

export class Forgetful extends Runtime {
  async start() { await super.start(); this.messages = []; }
}

export class Unpaired extends Runtime {
  note(call, said) { if (said.error?.startsWith('interrupted')) return; super.note(call, said); }
}

export class Repeating extends Runtime {
  interrupted(call) { return this.result(call, new AbortController().signal); }
}

export class Unsaved extends Runtime {
  async save() { super.save().catch(() => {}); }
}

export class Deaf extends Runtime {
  cancel() {}
}
