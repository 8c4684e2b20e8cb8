// A runtime that is right: the loop of an agent, around the client of `openai`.
import OpenAI from 'openai';
import { z } from 'zod';

const STEPS_MAX = 12;
const TOOL_MS = 30_000;
const PERSON_MS = 120_000;

const late = () => Object.assign(new Error('too late'), { errorClass: 'Session', code: 'InteractionAlreadyAnswered' });
const cancelled = () => Object.assign(new Error('cancelled'), { errorClass: 'Cancellation', code: 'TurnCancelled' });

export class Runtime {
  static faultclock = { declares: ['errors', 'audit', 'events'], dialect: 'openai-chat' };

  constructor(surroundings) {
    this.world = surroundings;
    this.tools = new Map(surroundings.tools.map(tool => [tool.name, tool]));
    const { apiKey, baseUrl: baseURL, timeoutMs: timeout } = surroundings;
    this.client = new OpenAI({ apiKey, baseURL, timeout });
    this.messages = [];
    this.questions = 0;
    this.running = new Map();
  }

  async start() {
    const { store, sessionId, resume } = this.world;
    this.messages = (resume && (await store.read(sessionId))?.messages) || [];
    // A process that was killed may have left calls without results.
    const answered = new Set(this.messages.map(it => it.tool_call_id));
    const calls = this.messages.flatMap(it => it.tool_calls ?? []).filter(it => !answered.has(it.id));
    for (const call of calls) this.note(call, await this.interrupted(call));
  }

  interrupted() { return { error: 'interrupted: it may have been done' }; }

  save() { return this.world.store.write(this.world.sessionId, { messages: this.messages }); }

  note(call, said) {
    const at = this.messages.findLastIndex(it => it.tool_calls?.some(one => one.id === call.id));
    const after = this.messages.findIndex((it, n) => n > at && it.role !== 'tool');
    const result = { role: 'tool', tool_call_id: call.id, content: JSON.stringify(said) };
    this.messages.splice(after < 0 ? this.messages.length : after, 0, result);
  }

  runTurn(text) { return this.turn(text, false); }
  streamTurn(text) { return this.turn(text, true); }

  async turn(text, stream) {
    const giving = new AbortController();
    this.running.set('turn', giving);
    const before = this.messages.length;
    try {
      this.messages.push({ role: 'user', content: text });
      return await this.loop(giving.signal, stream);
    } catch (error) {
      const ended = giving.signal.aborted ? cancelled() : error;
      const { errorClass = null, code = null } = ended;
      this.world.host.audit({ errorClass, code, context: { session: this.world.sessionId } });
      // Of a turn that did not end, what the world may have felt is kept: its calls and their results.
      const felt = this.messages.findLastIndex(it => it.role === 'tool') + 1;
      this.messages.length = Math.max(before, felt);
      if (felt > before) await this.save().catch(() => {});
      throw ended;
    } finally {
      this.running.delete('turn');
    }
  }

  async loop(signal, stream) {
    for (let step = 0; step < STEPS_MAX; step++) {
      const message = await this.answer(signal, stream);
      this.messages.push(message);
      if (message.tool_calls?.length) {
        // A call is stored before it is made.
        await this.save();
        for (const call of message.tool_calls) {
          this.note(call, signal.aborted ? { error: 'not done: cancelled' } : await this.result(call, signal));
        }
      }
      await this.save();
      signal.throwIfAborted();
      if (!message.tool_calls?.length) return message.content ?? message.refusal;
    }
    throw Object.assign(new Error(`no answer in ${STEPS_MAX} steps`), { errorClass: 'Limit', code: 'Steps' });
  }

  async answer(signal, stream) {
    const tools = this.world.tools.map(({ name, description, inputSchema: parameters }) =>
      ({ type: 'function', function: { name, description, parameters } }));
    const request = { model: this.world.model, messages: this.messages, ...(tools.length && { tools }) };
    const runner = stream && this.client.chat.completions.stream(request, { signal });
    runner?.on?.('content', piece => this.world.host.delivered(piece));
    const asked = runner ? runner.finalChatCompletion() : this.client.chat.completions.create(request, { signal });
    // A wait of the client between two attempts goes on after an abort.
    const aborted = new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const whole = await Promise.race([asked, aborted]);
    const [{ message, finish_reason: reason }] = whole.choices;
    if (!['stop', 'tool_calls'].includes(reason)) throw new Error(`the answer ended with ${reason}`);
    const { role, content, refusal, tool_calls: calls } = message;
    if (refusal) throw new Error('the model refuses');
    if (!content && !calls?.length) throw new Error('the answer is empty');
    return { role, content, ...(calls?.length && { tool_calls: calls }) };
  }

  /** Return what the model is told of a call; nothing that a tool does ends the turn. */
  async result(call, signal) {
    const tool = this.tools.get(call.function.name);
    if (!tool) return { error: 'there is no such tool' };
    const given = this.argumentsOf(call, tool);
    if (!given) return { error: 'the arguments do not fit the schema' };
    const denied = tool.gated ? await this.whyNot(call, given, signal) : '';
    if (denied || signal.aborted) return { error: denied || 'not done: cancelled' };
    const stopping = new AbortController();
    this.running.set(call.id, stopping);
    const deadline = AbortSignal.timeout(Math.min(tool.timeoutMs, TOOL_MS));
    try {
      const stops = AbortSignal.any([signal, stopping.signal, deadline]);
      return this.told(await this.executed(tool, given, { callId: call.id, signal: stops }));
    } catch (error) {
      return this.failure(error, deadline.aborted);
    } finally {
      this.running.delete(call.id);
    }
  }

  executed(tool, given, how) {
    this.world.host.event('ToolInvocationStarted', { tool: tool.name, tool_call: how.callId });
    return tool.execute(given, how);
  }

  told({ value, errors, problem }) { return problem ? { error: problem.code } : { value, ...(errors.length && { errors }) }; }

  failure(error, isLate) { return { error: isLate ? 'timed out: it may have been done' : 'it failed' }; }

  argumentsOf(call, tool) {
    try {
      const given = JSON.parse(call.function.arguments || '{}');
      return z.fromJSONSchema(tool.inputSchema).safeParse(given).success ? given : null;
    } catch {
      return null;
    }
  }

  /** Return why the person says no; empty for a yes. */
  async whyNot(call, given, signal) {
    const { interactors, headless, mode, allowlist, deadlinesMs, host } = this.world;
    const tool = call.function.name;
    if (mode === 'yolo' || (mode === 'allowlist' && allowlist.includes(tool))) return '';
    if (headless || mode === 'allowlist') return 'there is nobody to ask';
    const deadlineMs = deadlinesMs.Approve ?? PERSON_MS;
    const request = { id: `question-${++this.questions}`, kind: 'Approve', prompt: `May ${tool} be called?`,
      deadlineMs, tool, toolCall: call.id, arguments: given };
    const screens = interactors.filter(it => it.kinds.includes('Approve'));
    const ends = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
    const named = { request: request.id, kind: 'Approve', tool_call: call.id };
    host.event('InteractionRaised', named);
    let isOver = false;
    const answer = await new Promise(resolve => {
      const settle = given => { isOver = true; resolve(given); };
      const answered = given => { if (isOver) throw late(); else settle(given); };
      ends.addEventListener('abort', () => settle({ status: signal.aborted ? 'cancelled' : 'timeout' }));
      for (const one of screens) one.show(request, answered).catch(() => {});
    });
    const { status, reason } = answer;
    host.event('InteractionAnswered', { ...named, status });
    for (const one of screens) await one.dismiss(request.id);
    if (status === 'timeout') host.auditEvent('InteractionTimedOut', named);
    host.auditEvent('InteractionExchange', { ...named, status });
    const approved = status === 'accepted';
    this.decided(call, approved ? 'approve' : 'deny');
    return approved ? '' : reason || 'denied by the person';
  }

  decided({ id, function: { name: tool } }, decision) {
    this.world.host.auditEvent('Approval', { tool_call: id, tool, decision, source: 'user' });
  }

  cancel(scope, target) {
    for (const [name, giving] of this.running) {
      if (scope !== 'tool' || !target || name === target) giving.abort(cancelled());
    }
  }

  close() { return this.save(); }
}
