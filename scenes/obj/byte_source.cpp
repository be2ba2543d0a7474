#include "scenes/obj/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "scenes/obj/decompressors.h"
#include "scenes/scene.h"

namespace heapwood::scenes {
namespace {

constexpr std::string_view kXzMagic{
    "\xFD"
    "7zXZ\0",
    6};
constexpr std::string_view kGzipMagic{"\x1F\x8B", 2};

std::string system_message(int error) {
    return std::generic_category().message(error);
}

/// A file as it is. Its first bytes can be looked at before they are read.
class FileSource : public ByteSource {
public:
    explicit FileSource(std::string path) : path_(std::move(path)) {
        std::error_code status_error;
        const auto type = std::filesystem::status(path_, status_error).type();
        if (type == std::filesystem::file_type::directory) {
            throw SceneError(path_ + ": is a directory; name a file in it");
        }
        is_regular_ = type == std::filesystem::file_type::regular;
        // A named pipe that nobody writes to would be waited for at its opening.
        const int descriptor = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor >= 0) file_.reset(fdopen(descriptor, "rb"));
        if (!file_) {
            throw SceneError(path_ + ": cannot be opened: " + system_message(errno) +
                             "; name a file that can be read");
        }
        std::setvbuf(file_.get(), nullptr, _IONBF, 0);
        if (type == std::filesystem::file_type::fifo) await_writer(descriptor);
        fcntl(descriptor, F_SETFL, 0);
        head_size_ += read_file(head_ + head_size_, sizeof head_ - head_size_);
        if (head_size_ == 0) throw SceneError(path_ + ": is empty");
    }

    bool is_regular() const { return is_regular_; }
    bool starts_with(std::string_view magic) const {
        return std::string_view(head_, head_size_).starts_with(magic);
    }

    std::size_t read(char* to, std::size_t size) override {
        if (head_used_ < head_size_) {
            const std::size_t count = std::min(size, head_size_ - head_used_);
            std::copy_n(head_ + head_used_, count, to);
            head_used_ += count;
            return count;
        }
        return read_file(to, size);
    }

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    /// Waits until a process has opened the pipe for writing, which may take as long as starting it
    /// does; for what it writes there is no limit. @throws SceneError.
    void await_writer(int descriptor) {
        constexpr std::chrono::seconds kPatience{5};
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (std::chrono::steady_clock::now() < deadline) {
            const ssize_t count = ::read(descriptor, head_, sizeof head_);
            if (count > 0) head_size_ = static_cast<std::size_t>(count);
            if (count > 0 || (count < 0 && errno == EAGAIN)) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        throw SceneError(path_ + ": is a named pipe that no process writes to; start the writer");
    }

    std::size_t read_file(char* to, std::size_t size) {
        errno = 0;
        const std::size_t count = std::fread(to, 1, size, file_.get());
        if (count == 0 && std::ferror(file_.get()) != 0) {
            throw SceneError(path_ + ": cannot be read: " + system_message(errno));
        }
        return count;
    }

    std::string path_;
    bool is_regular_ = false;
    std::unique_ptr<std::FILE, Close> file_;
    char head_[6] = {};
    std::size_t head_size_ = 0;
    std::size_t head_used_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::string& path) {
    auto file = std::make_unique<FileSource>(path);
    if (file->starts_with(kTreeFileBegin)) {
        if (!file->is_regular()) throw SceneError(path + ": has a tree; " + kTreeThroughPipe);
        throw SceneError(path +
                         ": is a tree file, which 'heapwood inspect', 'render' and 'trace' read; "
                         "name the scene that it was built of");
    }
    if (file->starts_with(kXzMagic)) return decompress_xz(std::move(file), path);
    if (file->starts_with(kGzipMagic)) return decompress_gzip(std::move(file), path);
    for (const std::string_view ending : {".xz", ".gz"}) {
        if (path.ends_with(ending)) {
            throw SceneError(path + ": is named " + std::string(ending) +
                             ", but is not compressed so; rename it or compress it again");
        }
    }
    return file;
}

}  // namespace heapwood::scenes
