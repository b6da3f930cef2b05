package dev.bowline

import java.util.concurrent.TimeUnit
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

class LeakTest {
    /** The number of sessions. Campaigns use `-Dbowline.cycles=2000`. */
    private val cycles = Integer.getInteger("bowline.cycles", 40)

    /** Whether no object is live, after the collector has released those of other tests. */
    private fun nothingIsLive(): Boolean {
        System.gc()
        return Bowline.counters() == LiveCounters(0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u)
    }

    private suspend fun cycle() {
        session { session ->
            session.send("hello").use { it.waitUntilSettled() }
            session.until { it.results().isNotEmpty() }
        }
    }

    @Test
    fun `cancelled reader stops in the library`() = runTest {
        session { session ->
            session.send("hello").use { it.waitUntilSettled() }
            repeat(20) {
                val reader = launch { session.changes().collect { } }
                eventually("a read is pending") { Bowline.counters().pendingReads == 1uL }
                reader.cancelAndJoin()
                eventually("no read is pending") { Bowline.counters().pendingReads == 0uL }
            }
            eventually("no stream is live") { Bowline.counters().streams == 0uL }
        }
        eventually("nothing is live") { nothingIsLive() }
    }

    @Test
    @Timeout(value = 60, unit = TimeUnit.MINUTES)
    fun `memory and threads do not grow with sessions`() = runBlocking {
        repeat(20) { cycle() }
        eventually("nothing is live") { nothingIsLive() }
        val levels = listOf(
            Level("heap KiB", 4 * 1024, sinks = true, ::usedHeap),
            Level("RSS KiB", 48 * 1024) { status("VmRSS") },
            Level("threads", 5) { status("Threads") },
        )
        assertKept(levels) {
            repeat(cycles) { cycle() }
            eventually("nothing is live") { nothingIsLive() }
        }
    }

    @Test
    fun `refused argument releases the others and the object`() = runTest {
        val half = "half \ud83d of it"
        val tokens = object : TokenProvider {
            override fun token(wasRefused: Boolean): String? = null
        }
        val runner = RunnerConfiguration("http://127.0.0.1:1", tokenProvider = tokens)
        val providers = FfiConverterTypeTokenProvider.handleMap.size
        for (refused in listOf(runner to half, runner.copy(clientName = half) to "id")) {
            val error = runCatching { engine.attach(refused.first, refused.second, configuration()) }.exceptionOrNull()
            assertTrue(error is CharacterCodingException, "$error")
        }
        assertEquals(providers, FfiConverterTypeTokenProvider.handleMap.size)
        val session = engine.start(configuration())
        val closed = Cancellation().also { it.close() }
        repeat(3) {
            assertTrue(runCatching { session.send(half) }.exceptionOrNull() is CharacterCodingException)
            assertTrue(runCatching { session.request("status", half) }.exceptionOrNull() is CharacterCodingException)
            assertTrue(runCatching { session.waitForEnd(closed) }.exceptionOrNull() is IllegalStateException)
        }
        session.close()
        eventually("nothing is live") { nothingIsLive() }
    }

    @Test
    fun `closing a stream releases a waiting next`() = runTest {
        session { session ->
            session.until { it.phase == Phase.IDLE }
            val changes = session.changeStream()
            val waiting = async {
                while (true) {
                    val latest = changes.next(0u, 10_000u, 0u) ?: break
                    changes.next(latest.cursor, 1u, 0u) ?: break
                }
            }
            val events = session.eventStream()
            val waitingToo = async(start = CoroutineStart.UNDISPATCHED) { events.next(0u, 1u, 0u) }
            eventually("a read is pending") { Bowline.counters().pendingReads == 1uL }
            changes.close()
            runCatching { waiting.await() }.onFailure { assertTrue(it is IllegalStateException, "$it") }
            events.close()
            assertNull(waitingToo.await())
        }
    }

    @Test
    fun `closing handles releases the session`() = runTest {
        val session = engine.start(configuration())
        val stream = session.changeStream()
        stream.next(0u, 10u, 0u)
        // The collector closes handles in the same way.
        session.close()
        stream.close()
        eventually("nothing is live") { nothingIsLive() }
    }
}
