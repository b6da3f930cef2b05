// Tests: TerminalExecutor, HostTerminal
package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.CopyOnWriteArrayList
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class ExecutorTest {
    private fun configuration() = ExecutorConfiguration("session-1", hookGraceMs = 500u)

    private fun command(interaction: String, prompt: String? = "hello") = ExecutorCommand(
        interaction,
        prompt,
        isPrint = true,
        cwd = temporary().toString(),
        options = AgentOptions(trailingArgs = listOf("--pace", "0", "--input-format", "text")),
    )

    @Test
    fun `a command runs in a terminal of the library`() = live {
        engine.startExecutor(configuration()).use { executor ->
            val hooks = executor.hooks()
            val outcome = executor.execute(command("i1"))
            assertEquals(0, outcome.exitCode, outcome.toString())
            assertTrue(outcome.stdout.isNotBlank())
            assertEquals(EvidenceKind.COMPLETE, outcome.evidence)
            assertEquals(outcome.conversation, executor.conversation())
            hooks.use { assertNotNull(it.next(0u, 1u, 0u)) }
            assertEquals(EvidenceKind.NOTHING, executor.execute(command("i2").copy(program = "")).evidence)
            refused<BowlineException.Invalid> { executor.execute(command("i3").copy(program = "rm")) }
            refused<BowlineException.NotFound> { executor.typeText("x") }
            refused<BowlineException.NotFound> { executor.commandEnded(7u, TerminalOutput()) }
            executor.cleanup()
            refused<BowlineException.Ended> { executor.execute(command("i4")) }
            refused<BowlineException.Ended> { executor.hooks() }
        }
    }

    @Test
    fun `the host decides about the tools of a command`() = live {
        val gate = HookGate(listOf("PreToolUse"), 30_000u, HookReply.Tool(ToolVerdict.DENY, "nobody", null, null))
        engine.startExecutor(configuration().copy(hooks = HookConfiguration(gate = gate))).use { executor ->
            val used = async(start = CoroutineStart.UNDISPATCHED) { executor.happenings().first { it is HookNews.Event && it.event.kind == "PostToolUse" } }
            val questions = executor.questions()
            refused<BowlineException.Busy> { executor.asked().first() }
            val running = async { executor.execute(command("i1", "/tool ls")) }
            val question = questions.next(0u, 1u, 0u)!!.events.single()
            assertEquals("PreToolUse", question.event.kind)
            val waiting = async(start = CoroutineStart.UNDISPATCHED) { executor.withdrawn(question.question) }
            executor.answer(question.question, HookReply.Tool(ToolVerdict.ALLOW, null, null, null))
            waiting.await()
            refused<BowlineException.NotFound> { executor.answer(question.question, HookReply.Nothing) }
            assertEquals(EvidenceKind.COMPLETE, running.await().evidence)
            used.await()
            questions.close()
            executor.cleanup()
            refused<BowlineException.Ended> { executor.questions() }
        }
    }

    private class Terminal(val start: (HostTerminalCommand) -> Unit) : HostTerminal {
        val calls = CopyOnWriteArrayList<String>()

        override fun startCommand(command: HostTerminalCommand) {
            calls += "start ${command.interaction}"
            start(command)
        }

        override fun endCommand(run: ULong) {
            calls += "end"
        }

        override fun cleanup(session: String) {
            calls += "cleanup $session"
        }
    }

    @Test
    fun `a command runs in a terminal of the host`() = live {
        lateinit var executor: TerminalExecutor
        val terminal = Terminal { command ->
            assertTrue(command.line!!.contains("cat "), command.line)
            val prompt = Files.readString(Path.of(command.input!!))
            executor.commandEnded(command.run, TerminalOutput(stdout = prompt, exitCode = 5))
        }
        executor = engine.startExecutor(configuration(), terminal)
        executor.use {
            val outcome = executor.execute(command("i1", "say it"))
            assertEquals("say it", outcome.stdout)
            assertEquals(5, outcome.exitCode)
            assertEquals(EvidenceKind.NO_SESSION_END, outcome.evidence)
            executor.cleanup()
            assertEquals(listOf("start i1", "cleanup session-1"), terminal.calls.toList())
        }
    }

    @Test
    fun `a terminal that throws fails the command and nothing else`() = live {
        val terminal = Terminal { error("the tab is gone") }
        engine.startExecutor(configuration(), terminal).use { executor ->
            val failed = refused<BowlineException.Host> { executor.execute(command("i1")) }
            assertTrue("the tab is gone" in failed.reason, failed.reason)
            executor.cleanup()
        }
    }

    @Test
    fun `a callback may not wait in the library`() = live {
        engine.openRecording(fixtures.resolve("plain.jsonl").toString()).use { recording ->
            recording.changes().use { stream ->
                val terminal = Terminal { stream.nextBlocking(0u, 1u, 0u, 60_000u) }
                engine.startExecutor(configuration(), terminal).use { executor ->
                    val failed = refused<BowlineException.Host> { executor.execute(command("i1")) }
                    assertTrue("a thread of the library" in failed.reason, failed.reason)
                    executor.cleanup()
                }
            }
        }
    }

    @Test
    fun `a command is given up`() = live {
        val terminal = Terminal { }
        engine.startExecutor(configuration(), terminal).use { executor ->
            Cancellation().use { cancellation ->
                val waiting = async { runCatching { executor.execute(command("i1"), cancellation) }.exceptionOrNull() }
                eventually("the command runs") { terminal.calls.isNotEmpty() }
                cancellation.cancel()
                assertTrue(waiting.await() is BowlineException.Cancelled)
                eventually("the host was told") { "end" in terminal.calls }
            }
            executor.cleanup()
        }
    }
}
